import { type RawBuilder, sql } from 'kysely'
import { type Actor, hasOwnToken } from './actor.ts'

/** SQL condition: the actor may see the workspace `w` (an alias of `workspaces` in the query). */
export function visibleWorkspace(actor: Actor): RawBuilder<boolean> {
  switch (actor.kind) {
    case 'system':
      return sql<boolean>`true`
    case 'organization':
      return sql<boolean>`w.organization_id = ${actor.organizationId}`
    case 'run':
      return sql<boolean>`w.id = ${actor.workspaceId}`
    case 'user':
      return sql<boolean>`(
        exists (select from team_members mine join teams my_team on my_team.id = mine.team_id
                 where mine.user_id = ${actor.userId} and my_team.organization_id = w.organization_id
                   and (my_team.is_owners or my_team.manage_workspaces or my_team.read_workspaces))
        or exists (select from team_members mine join team_projects my_grant on my_grant.team_id = mine.team_id
                    where mine.user_id = ${actor.userId} and my_grant.project_id = w.project_id)
        or exists (select from team_members mine join team_workspaces my_grant on my_grant.team_id = mine.team_id
                    where mine.user_id = ${actor.userId} and my_grant.workspace_id = w.id))`
    case 'agent':
    case 'audit-trails':
    case 'task':
    case 'anonymous':
      return sql<boolean>`false`
  }
}

/**
 * SQL condition: the actor may see the project `p` (an alias of `projects` in the query). The same rule as
 * `projectPermissions`.
 */
export function visibleProject(actor: Actor): RawBuilder<boolean> {
  switch (actor.kind) {
    case 'system':
      return sql<boolean>`true`
    case 'organization':
      return sql<boolean>`p.organization_id = ${actor.organizationId}`
    case 'run':
      return sql<boolean>`p.id = (select me.project_id from workspaces me where me.id = ${actor.workspaceId})`
    case 'user':
      return sql<boolean>`(
        exists (select from team_members mine join teams my_team on my_team.id = mine.team_id
                 where mine.user_id = ${actor.userId} and my_team.organization_id = p.organization_id
                   and (my_team.is_owners or my_team.manage_projects or my_team.manage_workspaces or my_team.read_projects or my_team.read_workspaces))
        or exists (select from team_members mine join team_projects my_grant on my_grant.team_id = mine.team_id
                    where mine.user_id = ${actor.userId} and my_grant.project_id = p.id))`
    case 'agent':
    case 'audit-trails':
    case 'task':
    case 'anonymous':
      return sql<boolean>`false`
  }
}

/** SQL condition: the organization `o` takes the actor's credentials. Some take no API tokens of their members. */
export function takesCredentials(actor: Actor) {
  return sql<boolean>`(o.user_tokens_enabled or ${!hasOwnToken(actor)})`
}
