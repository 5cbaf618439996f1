import { type Insertable, type RawBuilder, type Selectable, type Updateable, sql } from 'kysely'
import type { GrantsColumn } from '../../../auth/access-context.ts'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { CUSTOM_PROJECT, CUSTOM_WORKSPACE, type ProjectGrant, type WorkspaceGrant } from '../../../auth/grants.ts'
import type { Db, Page, Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing, lowered } from '../../../db/sql.ts'
import { raiseAccessRevision } from '../organizations/store.ts'

export type TeamRow = Selectable<Schema['teams']>

/** Teams `t`. The service account is not counted as a member. */
function selectTeams(db: Db, actor: Actor) {
  const users = sql<number>`(select count(*) from team_members tm where tm.team_id = t.id and tm.user_id <> t.service_user_id)`
  return db
    .selectFrom('teams as t')
    .innerJoin('organizations as o', 'o.id', 't.organization_id')
    .selectAll('t')
    .select(['o.name as organization_name', isMember(actor).as('is_member'), users.as('users_count')])
}

/** SQL condition: the actor is a member of the team `t`. */
function isMember(actor: Actor): RawBuilder<boolean> {
  if (actor.kind !== 'user') return sql<boolean>`false`
  return sql<boolean>`exists (select from team_members me where me.team_id = t.id and me.user_id = ${actor.userId})`
}

function access(actor: Actor) {
  return accessColumn(actor, { organizationId: sql`t.organization_id` }).as('access')
}

export async function findTeam(db: Db, actor: Actor, id: string) {
  return selectTeams(db, actor).select(access(actor)).where('t.id', '=', id).executeTakeFirst()
}

export async function findTeams(db: Db, actor: Actor, ids: readonly string[]) {
  return selectTeams(db, actor)
    .select(access(actor))
    .where(sql<boolean>`t.id = any(${ids})`)
    .orderBy('t.name')
    .orderBy('t.id')
    .execute()
}

export type TeamFilter = {
  organizationId: string
  /** Without it, the visible teams and the actor's own. */
  all: boolean
  names: readonly string[] | undefined
  q: string | undefined
}

export async function listTeams(db: Db, actor: Actor, filter: TeamFilter, page: Page) {
  const matches = sql<boolean>`t.organization_id = ${filter.organizationId}
    ${filter.all ? sql`` : sql`and (t.visibility = 'organization' or ${isMember(actor)})`}
    ${filter.names === undefined ? sql`` : sql`and lower(t.name) in ${lowered(filter.names)}`}
    ${filter.q === undefined ? sql`` : sql`and t.name ilike ${containing(filter.q)}`}`
  const list = selectTeams(db, actor).where(matches).orderBy('t.name').orderBy('t.id')
  return readPaged(page, list, db.selectFrom('teams as t').where(matches))
}

type TeamGrant = {
  /** The id of a team with this grant, and the name of its project or workspace. */
  first: [teamId: string, name: string]
  noun: 'project' | 'workspace'
  grant: ProjectGrant | WorkspaceGrant
  held: GrantsColumn
}

/**
 * What teams of one organization may do on single projects and workspaces, with the actor's own grants there. Equal ones are one row, since
 * teams may have thousands of grants. The actor's are materialized: with stale statistics, PostgreSQL would read them again for each grant.
 */
export async function listGrantsOfTeams(db: Db, userId: string | null, teamIds: readonly string[]) {
  const held = (noun: 'project' | 'workspace') => sql`
    select ${sql.ref(`g.${noun}_id`)} as id, jsonb_agg(distinct (select to_jsonb(c) from (select ${PARTS[noun]}) c))::text as grants
      from team_members m join ${sql.table(`team_${noun}s`)} g on g.team_id = m.team_id
     where m.user_id = ${userId} group by 1`
  const { rows } = await sql<TeamGrant>`
    with held_projects as materialized (${held('project')}), held_workspaces as materialized (${held('workspace')})
    select min(array[g.team_id, p.name] collate "C") as first, 'project' as noun,
           (select to_jsonb(c) from (select ${PARTS.project}) c) as "grant",
           jsonb_build_object('projects', hp.grants::jsonb) as held
      from team_projects g join projects p on p.id = g.project_id
      left join held_projects hp on hp.id = g.project_id
     where g.team_id = any(${teamIds}) group by ${PARTS.project}, hp.grants
    union all
    select min(array[g.team_id, w.name] collate "C"), 'workspace',
           (select to_jsonb(c) from (select ${PARTS.workspace}) c),
           jsonb_build_object('projects', hp.grants::jsonb, 'workspaces', hw.grants::jsonb)
      from team_workspaces g join workspaces w on w.id = g.workspace_id
      left join held_projects hp on hp.id = w.project_id
      left join held_workspaces hw on hw.id = g.workspace_id
     where g.team_id = any(${teamIds}) group by ${PARTS.workspace}, hp.grants, hw.grants`.execute(db)
  return rows
}

const parts = (custom: object) => sql.join(['access', ...Object.keys(custom)].map((name) => sql.ref(`g.${name}`)))
const PARTS = { project: parts(CUSTOM_PROJECT), workspace: parts(CUSTOM_WORKSPACE) }

export async function insertTeam(db: Db, row: Insertable<Schema['teams']>) {
  return db.insertInto('teams').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateTeam(db: Db, id: string, changes: Updateable<Schema['teams']>) {
  await db.updateTable('teams').set(changes).where('id', '=', id).execute()
}

export async function deleteTeam(tx: Tx, id: string) {
  const deleted = await tx.deleteFrom('teams').where('id', '=', id).returning('organization_id').executeTakeFirst()
  if (deleted) await raiseAccessRevision(tx, { organizationId: deleted.organization_id })
}

export async function insertServiceUser(db: Db, { id, username, now }: { id: string; username: string; now: Date }) {
  await db
    .insertInto('users')
    .values({ id, username, auth_method: 'token', is_service_account: true, created_at: now, updated_at: now })
    .execute()
}

export async function suspendServiceUser(db: Db, id: string, now: Date) {
  await db
    .updateTable('users')
    .set({ suspended_at: now })
    .where('id', '=', id)
    .where('is_service_account', '=', true)
    .execute()
}

export async function findOwnersTeam(db: Db, organizationId: string) {
  return selectOwnersTeam(db, organizationId).executeTakeFirstOrThrow()
}

/** The owners team with the row lock that all removals of owners take. */
export async function lockOwnersTeam(tx: Tx, organizationId: string) {
  return selectOwnersTeam(tx, organizationId).forUpdate().executeTakeFirstOrThrow()
}

function selectOwnersTeam(db: Db, organizationId: string) {
  return db.selectFrom('teams').select('id').where('organization_id', '=', organizationId).where('is_owners', '=', true)
}

/** A member of a team with an account, or an invited user, who has only a membership. */
export type TeamMember = { team_id: string; user_id: string | null; membership_id: string | null }

/** The members of teams without service accounts, in the order in which they joined. */
export async function listMembers(db: Db, teamIds: readonly string[]): Promise<TeamMember[]> {
  const { rows } = await sql<TeamMember>`
    select m.team_id, m.user_id, m.membership_id from (
      select tm.team_id, tm.user_id, o.id as membership_id, tm.created_at
        from team_members tm join teams t on t.id = tm.team_id
        left join organization_memberships o on o.organization_id = t.organization_id and o.user_id = tm.user_id
       where tm.team_id = any(${teamIds}) and tm.user_id <> t.service_user_id
      union all
      select i.team_id, null, i.membership_id, i.created_at from invited_team_members i
       where i.team_id = any(${teamIds})) m
    order by m.created_at, m.user_id, m.membership_id`.execute(db)
  return rows
}

/** Whether the team has another member than `exceptUserId`, apart from suspended accounts, which cannot act for it. */
export async function hasMembers(db: Db, teamId: string, exceptUserId: string | null = null) {
  const { rows } = await sql`
    select from team_members tm join teams t on t.id = tm.team_id join users u on u.id = tm.user_id
     where tm.team_id = ${teamId} and u.suspended_at is null and tm.user_id <> t.service_user_id
       and tm.user_id is distinct from ${exceptUserId} limit 1`.execute(db)
  return rows.length > 0
}

/** Active members of the organization by their usernames, case-insensitively. */
export async function findMembersByName(db: Db, organizationId: string, usernames: readonly string[]) {
  return db
    .selectFrom('organization_memberships as m')
    .innerJoin('users as u', 'u.id', 'm.user_id')
    .select(['u.id', 'u.username'])
    .where('m.organization_id', '=', organizationId)
    .where('m.status', '=', 'active')
    .where(sql<boolean>`lower(u.username) = any(${usernames.map((name) => name.toLowerCase())})`)
    .execute()
}

export async function findMembershipsByIds(db: Db, organizationId: string, ids: readonly string[]) {
  return db
    .selectFrom('organization_memberships')
    .select(['id', 'user_id', 'status'])
    .where('organization_id', '=', organizationId)
    .where(sql<boolean>`id = any(${ids})`)
    .execute()
}

type NewMembers = { teamIds: readonly string[]; userIds: readonly string[]; now: Date; viaSso?: boolean }

/** Adds users to teams of one organization. A membership granted by a user stays one, even if sign-on grants it too. */
export async function insertTeamMembers(tx: Tx, { teamIds, userIds, now, viaSso = false }: NewMembers) {
  await sql`insert into team_members (team_id, user_id, created_at, via_sso)
    select distinct t, u, ${now}::timestamptz, ${viaSso}::boolean
      from unnest(${teamIds}::text[]) t, unnest(${userIds}::text[]) u
    on conflict (team_id, user_id) do update set via_sso = team_members.via_sso and excluded.via_sso`.execute(tx)
  await raiseAccessRevision(tx, { teamIds })
}

type NewInvitedMembers = { teamIds: readonly string[]; membershipIds: readonly string[]; now: Date }

/** Adds invited users to teams. Invalidates the links that were shown to their inviters; those sent by e-mail stay valid. */
export async function insertInvitedMembers(db: Db, { teamIds, membershipIds, now }: NewInvitedMembers) {
  await sql`insert into invited_team_members (team_id, membership_id, created_at)
    select t, m, ${now} from unnest(${teamIds}::text[]) t, unnest(${membershipIds}::text[]) m
    on conflict do nothing`.execute(db)
  // The inviter, who has this link, may have less access than the new team.
  await db
    .updateTable('organization_memberships')
    .set({ invitation_hash: null })
    .where(sql<boolean>`id = any(${membershipIds})`)
    .execute()
}

/** Removes users from teams of one organization. */
export async function deleteTeamMembers(tx: Tx, teamIds: readonly string[], userIds: readonly string[]) {
  await tx
    .deleteFrom('team_members')
    .where(sql<boolean>`team_id = any(${teamIds})`)
    .where(sql<boolean>`user_id = any(${userIds})`)
    .execute()
  await raiseAccessRevision(tx, { teamIds })
}

export async function deleteInvitedMembers(tx: Tx, teamId: string, membershipIds: readonly string[]) {
  await tx
    .deleteFrom('invited_team_members')
    .where('team_id', '=', teamId)
    .where(sql<boolean>`membership_id = any(${membershipIds})`)
    .execute()
}

/** SQL for memberships and invitations `m` with their teams `t`. */
export const MEMBERSHIP_TEAMS = sql`organization_memberships m
  cross join lateral (select tm.team_id from team_members tm where tm.user_id = m.user_id
                union select i.team_id from invited_team_members i where i.membership_id = m.id) mine
  join teams t on t.id = mine.team_id and t.organization_id = m.organization_id`

type MembershipTeam = Pick<TeamRow, 'id' | 'is_owners' | 'visibility' | 'allow_member_token_management'> & {
  membership_id: string
  is_member: boolean
}

/** The teams of memberships and invitations; `is_member` is about `actorUserId`. */
export async function listTeamsOfMemberships(db: Db, membershipIds: readonly string[], actorUserId: string | null) {
  const { rows } = await sql<MembershipTeam>`
    select m.id as membership_id, t.id, t.is_owners, t.visibility, t.allow_member_token_management,
           exists (select from team_members me where me.team_id = t.id and me.user_id = ${actorUserId}) as is_member
      from ${MEMBERSHIP_TEAMS}
     where m.id = any(${membershipIds})
     order by t.name, t.id`.execute(db)
  return rows
}
