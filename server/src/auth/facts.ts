import { type RawBuilder, sql } from 'kysely'
import type { Actor, UserActor } from './actor.ts'
import {
  type Facts,
  NO_FACTS,
  ORGANIZATION_ACCESS,
  type OrganizationAccess,
  type ProjectGrant,
  type WorkspaceGrant,
} from './permissions.ts'

/** Facts as they come out of the database, in one JSON column of the row that they are about. */
export type FactsColumn = {
  owner?: boolean | null
  member?: boolean | null
  access?: OrganizationAccess[] | null
  projects?: ProjectGrant[] | null
  workspaces?: WorkspaceGrant[] | null
  consumer?: boolean | null
  /** The organization demands a second factor, and the actor is a person with a password and without one. */
  lacks_second_factor?: boolean | null
} | null

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
export function factsColumn(actor: Actor, subject: Subject): RawBuilder<FactsColumn> {
  if (actor.kind === 'run' && subject.workspaceId) {
    return sql<FactsColumn>`(select jsonb_build_object('consumer',
        s.global_remote_state
        or (s.project_remote_state and exists (
             select from workspaces me where me.id = ${actor.workspaceId} and me.project_id = s.project_id))
        or exists (select from remote_state_consumers c where c.workspace_id = s.id and c.consumer_id = ${actor.workspaceId}))
      from workspaces s where s.id = ${subject.workspaceId})`
  }
  if (actor.kind !== 'user') return sql<FactsColumn>`null::jsonb`
  const access = sql.join(
    ORGANIZATION_ACCESS.map((name) => sql`case when bool_or(t.${sql.ref(name)}) then ${sql.lit(name)} end`),
    sql`, `,
  )
  const projects = subject.projectId ? projectGrants(actor, subject.projectId) : sql`null`
  const workspaces = subject.workspaceId ? workspaceGrants(actor, subject.workspaceId) : sql`null`
  return sql<FactsColumn>`(select jsonb_build_object(
      'owner', bool_or(t.is_owners),
      'member', count(t.id) > 0 or exists (
        select from organization_memberships m
         where m.organization_id = ${subject.organizationId} and m.user_id = ${actor.userId} and m.status = 'active'),
      'access', array_remove(array[${access}], null),
      'projects', ${projects},
      'workspaces', ${workspaces},
      'lacks_second_factor', exists (
        select from organizations policy join users me on me.id = ${actor.userId}
         where policy.id = ${subject.organizationId} and policy.collaborator_auth_policy = 'two_factor_mandatory'
           and me.auth_method = 'password' and not exists (
             select from second_factors f where f.user_id = me.id and f.verified_at is not null)))
    from team_members tm
    join teams t on t.id = tm.team_id and t.organization_id = ${subject.organizationId}
    where tm.user_id = ${actor.userId})`
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

function projectGrants(actor: UserActor, projectId: RawBuilder<unknown>) {
  return sql`(select jsonb_agg(jsonb_build_object('access', g.access, 'runs', g.runs, 'variables', g.variables,
      'state_versions', g.state_versions, 'sentinel_mocks', g.sentinel_mocks, 'run_tasks', g.run_tasks,
      'policy_overrides', g.policy_overrides, 'locking', g.workspace_locking,
      'project_settings', g.project_settings, 'project_teams', g.project_teams,
      'project_variable_sets', g.project_variable_sets, 'workspace_create', g.workspace_create,
      'workspace_move', g.workspace_move, 'workspace_delete', g.workspace_delete))
    from team_projects g join team_members gm on gm.team_id = g.team_id and gm.user_id = ${actor.userId}
    where g.project_id = ${projectId})`
}

function workspaceGrants(actor: UserActor, workspaceId: RawBuilder<unknown>) {
  return sql`(select jsonb_agg(jsonb_build_object('access', g.access, 'runs', g.runs, 'variables', g.variables,
      'state_versions', g.state_versions, 'sentinel_mocks', g.sentinel_mocks, 'run_tasks', g.run_tasks,
      'policy_overrides', g.policy_overrides, 'locking', g.workspace_locking))
    from team_workspaces g join team_members gm on gm.team_id = g.team_id and gm.user_id = ${actor.userId}
    where g.workspace_id = ${workspaceId})`
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
      if (actor.workspaceId === row.workspaceId) return { ...NO_FACTS, standing: 'own-run' }
      return { ...NO_FACTS, standing: row.facts?.consumer ? 'consumer-run' : 'foreign-run' }
    }
    case 'user':
      return {
        standing: row.facts?.owner ? 'owner' : row.facts?.member ? 'member' : 'stranger',
        access: new Set(row.facts?.access ?? []),
        projectGrants: row.facts?.projects ?? [],
        workspaceGrants: row.facts?.workspaces ?? [],
        lacksSecondFactor: row.facts?.lacks_second_factor ?? false,
      }
    case 'agent':
    case 'audit-trails':
    case 'task':
    case 'anonymous':
      return NO_FACTS
  }
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
        exists (select from team_members tm join teams t on t.id = tm.team_id
                 where tm.user_id = ${actor.userId} and t.organization_id = w.organization_id
                   and (t.is_owners or t.manage_workspaces or t.read_workspaces))
        or exists (select from team_members tm join team_projects g on g.team_id = tm.team_id
                    where tm.user_id = ${actor.userId} and g.project_id = w.project_id)
        or exists (select from team_members tm join team_workspaces g on g.team_id = tm.team_id
                    where tm.user_id = ${actor.userId} and g.workspace_id = w.id))`
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
    case 'run':
      return sql<boolean>`p.organization_id = ${actor.organizationId}`
    case 'user':
      return sql<boolean>`(
        exists (select from team_members tm join teams t on t.id = tm.team_id
                 where tm.user_id = ${actor.userId} and t.organization_id = p.organization_id
                   and (t.is_owners or t.manage_projects or t.manage_workspaces or t.read_projects or t.read_workspaces))
        or exists (select from team_members tm join team_projects g on g.team_id = tm.team_id
                    where tm.user_id = ${actor.userId} and g.project_id = p.id))`
    case 'agent':
    case 'audit-trails':
    case 'task':
    case 'anonymous':
      return sql<boolean>`false`
  }
}
