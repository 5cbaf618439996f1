import { sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { raiseAccessRevision } from '../organizations/store.ts'

/** A person in a team: a member with an account, or an invited person with only a membership. */
export type TeamMember = { team_id: string; user_id: string | null; membership_id: string | null }

/** The members of the teams without their service accounts, in the order in which they came. */
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

/** Suspended accounts don't count: they can do nothing for the team. */
export async function countMembers(db: Db, teamId: string) {
  const { rows } = await sql<{ total: number }>`
    select count(*) as total from team_members tm join teams t on t.id = tm.team_id join users u on u.id = tm.user_id
     where tm.team_id = ${teamId} and tm.user_id <> t.service_user_id and u.suspended_at is null`.execute(db)
  return rows[0]?.total ?? 0
}

/** As `countMembers`, without that user. */
export async function hasOtherMembers(db: Db, teamId: string, userId: string) {
  const { rows } = await sql`
    select from team_members tm join teams t on t.id = tm.team_id join users u on u.id = tm.user_id
     where tm.team_id = ${teamId} and u.suspended_at is null and tm.user_id <> all(array[t.service_user_id, ${userId}]) limit 1`.execute(
    db,
  )
  return rows.length > 0
}

/** Active members of the organization by their usernames, in any case. */
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

type NewMembers = { teamId: string; userIds: readonly string[]; now: Date; viaSso?: boolean }

/** A grant by a user persists, even if sign-on granted it before. */
export async function insertTeamMembers(tx: Tx, { teamId, userIds, now, viaSso = false }: NewMembers) {
  await sql`insert into team_members (team_id, user_id, created_at, via_sso)
    select ${teamId}, u, ${now}, ${viaSso} from unnest(${userIds}::text[]) as t(u)
    on conflict (team_id, user_id) do update set via_sso = team_members.via_sso and excluded.via_sso`.execute(tx)
  await raiseAccessRevision(tx, { teamId })
}

export async function insertInvitedMembers(
  db: Db,
  { teamId, membershipIds, now }: { teamId: string; membershipIds: readonly string[]; now: Date },
) {
  await sql`insert into invited_team_members (team_id, membership_id, created_at)
    select ${teamId}, m, ${now} from unnest(${membershipIds}::text[]) as t(m) on conflict do nothing`.execute(db)
}

export async function deleteTeamMembers(tx: Tx, teamId: string, userIds: readonly string[]) {
  await tx
    .deleteFrom('team_members')
    .where('team_id', '=', teamId)
    .where(sql<boolean>`user_id = any(${userIds})`)
    .execute()
  await raiseAccessRevision(tx, { teamId })
}

export async function deleteInvitedMembers(tx: Tx, teamId: string, membershipIds: readonly string[]) {
  await tx
    .deleteFrom('invited_team_members')
    .where('team_id', '=', teamId)
    .where(sql<boolean>`membership_id = any(${membershipIds})`)
    .execute()
}

/** The owners team of an organization, with the row lock that all removals of owners take. */
export async function lockOwnersTeam(tx: Tx, organizationId: string) {
  return tx
    .selectFrom('teams')
    .select('id')
    .where('organization_id', '=', organizationId)
    .where('is_owners', '=', true)
    .forUpdate()
    .executeTakeFirstOrThrow()
}

export type UserTeam = {
  user_id: string | null
  membership_id: string
  id: string
  is_owners: boolean
  visibility: 'secret' | 'organization'
  allow_member_token_management: boolean
  is_member: boolean
}

/** The teams of memberships, also of those that wait for an account; `actorUserId` decides about `is_member`. */
export async function listTeamsOfMemberships(db: Db, membershipIds: readonly string[], actorUserId: string | null) {
  const { rows } = await sql<UserTeam>`
    select m.user_id, m.id as membership_id, t.id, t.is_owners, t.visibility, t.allow_member_token_management,
           exists (select from team_members me where me.team_id = t.id and me.user_id = ${actorUserId}) as is_member
      from organization_memberships m
      join teams t on t.organization_id = m.organization_id and (
        exists (select from team_members tm where tm.team_id = t.id and tm.user_id = m.user_id)
        or exists (select from invited_team_members i where i.team_id = t.id and i.membership_id = m.id))
     where m.id = any(${membershipIds})
     order by t.name, t.id`.execute(db)
  return rows
}
