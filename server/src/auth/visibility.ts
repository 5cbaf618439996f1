import { type RawBuilder, sql } from 'kysely'
import type { ActorInSql } from './access-sql.ts'
import { type Actor, hasOwnToken } from './actor.ts'

/** SQL condition: the actor may see the workspace `w` (an alias of `workspaces` in the query). */
export function visibleWorkspace(actor: ActorInSql) {
  return visible(actor, sql`w.organization_id`, {
    run: ({ workspaceId }) => sql<boolean>`w.id = ${workspaceId}`,
    user: ({ userId }) => sql<boolean>`(
      exists (select from team_members mine join teams my_team on my_team.id = mine.team_id
               where mine.user_id = ${userId} and my_team.organization_id = w.organization_id
                 and (my_team.is_owners or my_team.manage_workspaces or my_team.read_workspaces))
      or exists (select from team_members mine join team_projects my_grant on my_grant.team_id = mine.team_id
                  where mine.user_id = ${userId} and my_grant.project_id = w.project_id)
      or exists (select from team_members mine join team_workspaces my_grant on my_grant.team_id = mine.team_id
                  where mine.user_id = ${userId} and my_grant.workspace_id = w.id))`,
  })
}

/** SQL condition: the actor may see the project `p` (an alias of `projects` in the query), as by `projectPermissions`. */
export function visibleProject(actor: ActorInSql) {
  return visible(actor, sql`p.organization_id`, {
    run: ({ workspaceId }) =>
      sql<boolean>`p.id = (select me.project_id from workspaces me where me.id = ${workspaceId})`,
    user: ({ userId }) => sql<boolean>`(
      exists (select from team_members mine join teams my_team on my_team.id = mine.team_id
               where mine.user_id = ${userId} and my_team.organization_id = p.organization_id
                 and (my_team.is_owners or my_team.manage_projects or my_team.manage_workspaces or my_team.read_projects or my_team.read_workspaces))
      or exists (select from team_members mine join team_projects my_grant on my_grant.team_id = mine.team_id
                  where mine.user_id = ${userId} and my_grant.project_id = p.id))`,
  })
}

type Conditions = {
  run: (actor: Extract<ActorInSql, { kind: 'run' }>) => RawBuilder<boolean>
  user: (actor: Extract<ActorInSql, { kind: 'user' }>) => RawBuilder<boolean>
}

function visible(
  actor: ActorInSql,
  organizationId: RawBuilder<unknown>,
  { run, user }: Conditions,
): RawBuilder<boolean> {
  if (actor.kind === 'system') return sql<boolean>`true`
  if (actor.kind === 'organization') return sql<boolean>`${organizationId} = ${actor.organizationId}`
  if (actor.kind === 'run') return run(actor)
  return actor.kind === 'user' ? user(actor) : sql<boolean>`false`
}

/** SQL condition: the organization `o` accepts the actor's credentials. Some accept no API tokens of their members. */
export function acceptsCredentials(actor: Actor) {
  return sql<boolean>`(o.user_tokens_enabled or ${!hasOwnToken(actor)})`
}
