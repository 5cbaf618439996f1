import { type RawBuilder, sql } from 'kysely'
import type { Actor, UserActor } from './actor.ts'
import type { ProjectGrant, WorkspaceGrant } from './grants.ts'
import { type Facts, NO_FACTS, ORGANIZATION_ACCESS, type OrganizationAccess } from './permissions.ts'

/** Facts as they come out of the database, in one JSON column of the row that they are about. */
export type FactsColumn = {
  owner?: boolean | null
  member?: boolean | null
  access?: OrganizationAccess[] | null
  projects?: ProjectGrant[] | null
  workspaces?: WorkspaceGrant[] | null
  consumer?: boolean | null
  /** The project that the facts are about is that of the run's own workspace. */
  own_project?: boolean | null
  /** The organization demands a second factor, and the actor is a person with a password and without one. */
  lacks_second_factor?: boolean | null
  /** The organization's limits for sessions: the minutes without use, and those in all. */
  session_limits?: [number | null, number | null] | null
} | null

/** A user whose id a statement finds by itself, for one that is about several users. */
type UserInSql = { kind: 'user'; userId: RawBuilder<string> }
/** For whom SQL finds facts: of a user it takes the id alone. */
export type Asker = Actor | UserInSql

export function userInSql(userId: RawBuilder<string>): UserInSql {
  return { kind: 'user', userId }
}

/** SQL of ids from outside; the aliases inside are `me`, `my_…`, `mine` and `source`, so that none of these is hidden. */
type Subject = {
  /** SQL of the organization's id, such as `w.organization_id`. */
  organizationId: RawBuilder<unknown>
  projectId?: RawBuilder<unknown>
  workspaceId?: RawBuilder<unknown>
}

/**
 * SQL of the facts about `subject` for `actor`, to be selected beside the resource, so that loading and authorising are
 * one query. `null` where the actor itself already says all.
 */
export function factsColumn(actor: Asker, subject: Subject): RawBuilder<FactsColumn> {
  if (actor.kind === 'run' && subject.workspaceId) {
    return sql<FactsColumn>`(select jsonb_build_object('consumer',
        source.global_remote_state
        or (source.project_remote_state and exists (
             select from workspaces me where me.id = ${actor.workspaceId} and me.project_id = source.project_id))
        or exists (select from remote_state_consumers consumer where consumer.workspace_id = source.id and consumer.consumer_id = ${actor.workspaceId}))
      from workspaces source where source.id = ${subject.workspaceId})`
  }
  if (actor.kind === 'run' && subject.projectId) {
    return sql<FactsColumn>`(select jsonb_build_object('own_project', me.project_id = ${subject.projectId})
      from workspaces me where me.id = ${actor.workspaceId})`
  }
  if (actor.kind !== 'user') return sql<FactsColumn>`null::jsonb`
  const access = sql.join(
    ORGANIZATION_ACCESS.map((name) => sql`case when bool_or(my_team.${sql.ref(name)}) then ${sql.lit(name)} end`),
    sql`, `,
  )
  const projects = subject.projectId ? projectGrants(actor, subject.projectId) : sql`null`
  const workspaces = subject.workspaceId ? workspaceGrants(actor, subject.workspaceId) : sql`null`
  return sql<FactsColumn>`(select jsonb_build_object(
      'owner', bool_or(my_team.is_owners),
      'member', count(my_team.id) > 0 or exists (
        select from organization_memberships my_membership
         where my_membership.organization_id = ${subject.organizationId}
           and my_membership.user_id = ${actor.userId} and my_membership.status = 'active'),
      'access', array_remove(array[${access}], null),
      'projects', ${projects},
      'workspaces', ${workspaces},
      'session_limits', (
        select jsonb_build_array(my_organization.session_timeout, my_organization.session_remember)
          from organizations my_organization
         where my_organization.id = ${subject.organizationId}
           and coalesce(my_organization.session_timeout, my_organization.session_remember) is not null),
      'lacks_second_factor', exists (
        select from organizations my_organization join users me on me.id = ${actor.userId}
         where my_organization.id = ${subject.organizationId} and my_organization.collaborator_auth_policy = 'two_factor_mandatory'
           and me.auth_method = 'password' and not exists (
             select from second_factors my_factor where my_factor.user_id = me.id and my_factor.verified_at is not null)))
    from team_members mine
    join teams my_team on my_team.id = mine.team_id and my_team.organization_id = ${subject.organizationId}
    where mine.user_id = ${actor.userId})`
}

/** The facts about the workspace that a query has joined as `w`. */
export function workspaceFactsColumn(actor: Asker) {
  return factsColumn(actor, {
    organizationId: sql`w.organization_id`,
    projectId: sql`w.project_id`,
    workspaceId: sql`w.id`,
  })
}

/**
 * SQL of what the actor's teams grant on one project and one workspace in it. A list within one organization selects this
 * beside each row, and takes the rest of the facts from the organization.
 */
export function grantsColumn(
  actor: Actor,
  subject: { projectId: RawBuilder<unknown>; workspaceId: RawBuilder<unknown> },
) {
  if (actor.kind !== 'user') return sql<GrantsColumn>`null::jsonb`
  return sql<GrantsColumn>`jsonb_build_object('projects', ${projectGrants(actor, subject.projectId)},
    'workspaces', ${workspaceGrants(actor, subject.workspaceId)})`
}
export type GrantsColumn = { projects: ProjectGrant[] | null; workspaces: WorkspaceGrant[] | null } | null

function projectGrants(actor: UserActor | UserInSql, projectId: RawBuilder<unknown>) {
  return sql`(select jsonb_agg(jsonb_build_object('access', my_grant.access, 'runs', my_grant.runs, 'variables', my_grant.variables,
      'state_versions', my_grant.state_versions, 'sentinel_mocks', my_grant.sentinel_mocks, 'run_tasks', my_grant.run_tasks,
      'policy_overrides', my_grant.policy_overrides, 'locking', my_grant.workspace_locking,
      'project_settings', my_grant.project_settings, 'project_teams', my_grant.project_teams,
      'project_variable_sets', my_grant.project_variable_sets, 'workspace_create', my_grant.workspace_create,
      'workspace_move', my_grant.workspace_move, 'workspace_delete', my_grant.workspace_delete))
    from team_projects my_grant join team_members mine on mine.team_id = my_grant.team_id and mine.user_id = ${actor.userId}
    where my_grant.project_id = ${projectId})`
}

function workspaceGrants(actor: UserActor | UserInSql, workspaceId: RawBuilder<unknown>) {
  return sql`(select jsonb_agg(jsonb_build_object('access', my_grant.access, 'runs', my_grant.runs, 'variables', my_grant.variables,
      'state_versions', my_grant.state_versions, 'sentinel_mocks', my_grant.sentinel_mocks, 'run_tasks', my_grant.run_tasks,
      'policy_overrides', my_grant.policy_overrides, 'locking', my_grant.workspace_locking))
    from team_workspaces my_grant join team_members mine on mine.team_id = my_grant.team_id and mine.user_id = ${actor.userId}
    where my_grant.workspace_id = ${workspaceId})`
}

/** The facts about one row: its `facts` column, and what the actor itself says. */
export function readFacts(
  actor: Actor,
  row: { organizationId: string; workspaceId?: string; facts: FactsColumn },
): Facts {
  switch (actor.kind) {
    case 'system':
      return { ...NO_FACTS, standing: 'system' }
    case 'organization':
      return { ...NO_FACTS, standing: actor.organizationId === row.organizationId ? 'organization-token' : 'stranger' }
    case 'run': {
      if (actor.organizationId !== row.organizationId) return NO_FACTS
      if (actor.workspaceId === row.workspaceId || row.facts?.own_project) return { ...NO_FACTS, standing: 'own-run' }
      return { ...NO_FACTS, standing: row.facts?.consumer ? 'consumer-run' : 'foreign-run' }
    }
    case 'user':
      // What an organization demands of its members is nothing to tell a stranger.
      if (!row.facts?.owner && !row.facts?.member) return NO_FACTS
      return {
        standing: row.facts.owner ? 'owner' : 'member',
        access: new Set(row.facts?.access ?? []),
        projectGrants: row.facts?.projects ?? [],
        workspaceGrants: row.facts?.workspaces ?? [],
        demands: demandsOf(actor, row.facts),
      }
    case 'agent':
    case 'audit-trails':
    case 'task':
    case 'anonymous':
      return NO_FACTS
  }
}

function demandsOf(actor: UserActor, facts: NonNullable<FactsColumn>): Facts['demands'] {
  if (facts.lacks_second_factor) return 'second-factor'
  const [idle, life] = facts.session_limits ?? []
  const age = actor.sessionAge
  if (!age) return undefined
  const isOver = age.idleMinutes >= (idle ?? Infinity) || age.minutes >= (life ?? Infinity)
  return isOver ? 'new-session' : undefined
}

/**
 * The facts about a workspace in a list within one organization: the organization's, and what is granted on the workspace
 * itself. Only for rows that the actor may see.
 */
export function listedFacts(organization: Facts, grants: GrantsColumn): Facts {
  return {
    ...organization,
    // A run lists no workspace but its own.
    standing: organization.standing === 'foreign-run' ? 'own-run' : organization.standing,
    projectGrants: grants?.projects ?? [],
    workspaceGrants: grants?.workspaces ?? [],
  }
}

/** Whether grants decide what the actor may do in a workspace that it lists: who manages all of them needs none. */
export function dependsOnGrants({ standing, access }: Facts) {
  return standing === 'member' && !access.has('manage_workspaces')
}

/** Whether the actor sees every workspace of the organization that the facts are about, whatever teams grant on them. */
export function seesEveryWorkspace(facts: Facts) {
  const { standing, access } = facts
  if (standing === 'member') return access.has('manage_workspaces') || access.has('read_workspaces')
  return standing === 'system' || standing === 'owner' || standing === 'organization-token'
}

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

/** SQL condition: the actor may see the project `p` (an alias of `projects` in the query); as `projectPermissions` has it. */
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
