import { type RawBuilder, sql } from 'kysely'
import type { AccessColumn, GrantsColumn } from './access-context.ts'
import type { Actor, UserActor } from './actor.ts'

type UserInSql = { kind: 'user'; userId: RawBuilder<string> }
type RunInSql = { kind: 'run'; workspaceId: RawBuilder<string> }
/** An actor whose access SQL computes. Of a user it needs only the id, of a run the id of its workspace. */
export type ActorInSql = Actor | UserInSql | RunInSql

export function userInSql(userId: RawBuilder<string>): UserInSql {
  return { kind: 'user', userId }
}

export function runInSql(workspaceId: RawBuilder<string>): RunInSql {
  return { kind: 'run', workspaceId }
}

/**
 * The subject of an access context, as expressions of the outer query. The queries below use the aliases `me`, `my_…`, `mine`,
 * `source` and `consumer`, which the expressions must not refer to.
 */
type Subject = {
  /** SQL of the organization's id, such as `w.organization_id`. */
  organizationId: RawBuilder<unknown>
  projectId?: RawBuilder<unknown>
  workspaceId?: RawBuilder<unknown>
}

/**
 * SQL of the actor's access context for `subject`, selected with the resource, so that one query loads and authorises. `null` for actors that
 * need no query. Nearly every request executes it, and PostgreSQL sets up each expression for each execution, so few large values cost less
 * than many small ones.
 */
export function accessColumn(actor: ActorInSql, subject: Subject): RawBuilder<AccessColumn> {
  if (actor.kind === 'run' && subject.workspaceId) {
    return sql<AccessColumn>`(select jsonb_build_object('consumer',
        source.global_remote_state
        or (source.project_remote_state and exists (
             select from workspaces me where me.id = ${actor.workspaceId} and me.project_id = source.project_id))
        or exists (select from remote_state_consumers consumer where consumer.workspace_id = source.id and consumer.consumer_id = ${actor.workspaceId}))
      from workspaces source where source.id = ${subject.workspaceId})`
  }
  if (actor.kind === 'run' && subject.projectId) {
    return sql<AccessColumn>`(select jsonb_build_object('own_project', me.project_id = ${subject.projectId})
      from workspaces me where me.id = ${actor.workspaceId})`
  }
  if (actor.kind !== 'user') return sql<AccessColumn>`null::jsonb`
  const projects = subject.projectId ? grants(actor, 'project', subject.projectId) : sql`null`
  const workspaces = subject.workspaceId ? grants(actor, 'workspace', subject.workspaceId) : sql`null`
  return sql<AccessColumn>`(select jsonb_build_object(
      'owner', bool_or(my_team.is_owners),
      'member', count(my_team.id) > 0 or exists (
        select from organization_memberships my_membership
         where my_membership.organization_id = ${subject.organizationId}
           and my_membership.user_id = ${actor.userId} and my_membership.status = 'active'),
      'access', bit_or(my_team.organization_access),
      'projects', ${projects},
      'workspaces', ${workspaces},
      'sign_in', (
        select jsonb_build_object(
            'refuses_user_tokens', not my_organization.user_tokens_enabled,
            'idle_minutes', my_organization.session_timeout,
            'minutes', my_organization.session_remember,
            'lacks_two_factor', my_organization.collaborator_auth_policy = 'two_factor_mandatory' and exists (
              select from users me where me.id = ${actor.userId} and me.auth_method = 'password' and not exists (
                select from two_factor_secrets my_factor where my_factor.user_id = me.id and my_factor.verified_at is not null)))
          from organizations my_organization where my_organization.id = ${subject.organizationId}))
    from team_members mine
    join teams my_team on my_team.id = mine.team_id and my_team.organization_id = ${subject.organizationId}
    where mine.user_id = ${actor.userId})`
}

/** As `accessColumn`, for the workspace that a query has joined as `w`. */
export function workspaceAccessColumn(actor: ActorInSql) {
  return accessColumn(actor, {
    organizationId: sql`w.organization_id`,
    projectId: sql`w.project_id`,
    workspaceId: sql`w.id`,
  })
}

/**
 * As `workspaceAccessColumn`, but only in one row of each workspace, since lists often have few workspaces and the access of a user in many
 * teams is slow to compute. `shareAccess` copies it to the other rows.
 */
export function sharedAccessColumn(actor: ActorInSql) {
  return sql<AccessColumn>`case when row_number() over (partition by w.id) = 1 then ${workspaceAccessColumn(actor)} end`
}

/**
 * SQL of the grants of the actor's teams on one project and one workspace in it. Lists within one organization select it with each row and
 * take the rest of the access context from the organization.
 */
export function grantsColumn(actor: ActorInSql, subject: Required<Pick<Subject, 'projectId' | 'workspaceId'>>) {
  if (actor.kind !== 'user') return sql<GrantsColumn>`null::jsonb`
  return sql<GrantsColumn>`jsonb_build_object('projects', ${grants(actor, 'project', subject.projectId)},
    'workspaces', ${grants(actor, 'workspace', subject.workspaceId)})`
}

function grants(actor: UserActor | UserInSql, noun: 'project' | 'workspace', id: RawBuilder<unknown>) {
  return sql`(select jsonb_agg(to_jsonb(my_grant))
    from ${sql.table(`team_${noun}s`)} my_grant
    join team_members mine on mine.team_id = my_grant.team_id and mine.user_id = ${actor.userId}
    where my_grant.${sql.ref(`${noun}_id`)} = ${id})`
}
