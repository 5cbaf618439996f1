import { type Insertable, type Updateable, sql } from 'kysely'
import { accessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import { acceptsCredentials } from '../../../auth/visibility.ts'
import { type Db, type Page, type Tx, pageOffset } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { containing } from '../../../db/sql.ts'
import { raiseAccessRevision } from '../organizations/store.ts'
import type { TeamRow } from '../teams/store.ts'

/** Memberships `m` with organization and user. The address of an active member is that of the account. */
function selectMemberships(db: Db) {
  return db
    .selectFrom('organization_memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .leftJoin('users as u', 'u.id', 'm.user_id')
    .leftJoin('two_factor_secrets as f', 'f.user_id', 'm.user_id')
    .select(['m.id', 'm.organization_id', 'm.user_id', 'm.placeholder_id', 'm.status', 'm.created_at'])
    .select(['m.invitation_expires_at', 'u.auth_method', 'f.verified_at as two_factor_at'])
    .select(['o.name as organization_name', 'o.collaborator_auth_policy', 'u.username'])
    .select(EMAIL.as('email'))
}

const EMAIL = sql<string>`coalesce(u.email, m.email)`

export type MembershipRow = Awaited<ReturnType<ReturnType<typeof selectMemberships>['executeTakeFirstOrThrow']>>

function access(actor: Actor) {
  return accessColumn(actor, { organizationId: sql`m.organization_id` }).as('access')
}

export async function findMembership(db: Db, actor: Actor, id: string) {
  return selectMemberships(db).select(access(actor)).where('m.id', '=', id).executeTakeFirst()
}

export async function findMemberships(db: Db, actor: Actor, ids: readonly string[]) {
  return selectMemberships(db)
    .select(access(actor))
    .where(sql<boolean>`m.id = any(${ids})`)
    .orderBy('m.created_at')
    .orderBy('m.id')
    .execute()
}

export async function listMembershipsOfUser(db: Db, actor: Actor, userId: string, page: Page) {
  const matches = sql<boolean>`m.user_id = ${userId} and ${acceptsCredentials(actor)}`
  const list = selectMemberships(db).select(access(actor)).where(matches).orderBy('o.name')
  const all = db
    .selectFrom('organization_memberships as m')
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .where(matches)
  return readPaged(page, list, all)
}

export type MembershipFilter = {
  organizationId: string
  status: string | undefined
  emails: readonly string[] | undefined
  q: string | undefined
  /** Members and invited users of this team. */
  teamId: string | undefined
  /** Active members who sign in with a password, and have two-factor authentication or not. */
  hasTwoFactor?: boolean | undefined
  /** Search usernames only. */
  hidesEmails?: boolean
}

type Listing = { page: Page; byStatus?: 'asc' | 'desc' | undefined }

export async function listMemberships(db: Db, filter: MembershipFilter, { page, byStatus }: Listing) {
  const { organizationId, status, emails, q, teamId, hasTwoFactor, hidesEmails } = filter
  const emailMatches = hidesEmails ? sql`` : sql`or ${EMAIL} ilike ${containing(q ?? '')}`
  const ofTeam = sql`and (
    exists (select from team_members tm where tm.team_id = ${teamId} and tm.user_id = m.user_id)
    or exists (select from invited_team_members i where i.team_id = ${teamId} and i.membership_id = m.id))`
  const secured = sql`and m.status = 'active' and u.auth_method = 'password' and ${sql.raw(hasTwoFactor ? '' : 'not')}
    exists (select from two_factor_secrets s where s.user_id = m.user_id and s.verified_at is not null)`
  const matches = sql<boolean>`m.organization_id = ${organizationId}
    ${status === undefined ? sql`` : sql`and m.status = ${status}`}
    ${emails === undefined ? sql`` : sql`and lower(${EMAIL}) = any(${emails.map((email) => email.toLowerCase())})`}
    ${q === undefined ? sql`` : sql`and (u.username ilike ${containing(q)} ${emailMatches})`}
    ${teamId === undefined ? sql`` : ofTeam}
    ${hasTwoFactor === undefined ? sql`` : secured}`
  let list = selectMemberships(db).where(matches)
  if (byStatus) list = list.orderBy('m.status', byStatus)
  const [rows, counts] = await Promise.all([
    list.orderBy('m.created_at').orderBy('m.id').limit(page.size).offset(pageOffset(page)).execute(),
    db
      .selectFrom('organization_memberships as m')
      .leftJoin('users as u', 'u.id', 'm.user_id')
      .select('m.status')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where(matches)
      .groupBy('m.status')
      .execute(),
  ])
  const count = (status: 'active' | 'invited') => counts.find((row) => row.status === status)?.total ?? 0
  const [active, invited] = [count('active'), count('invited')]
  return { rows, total: active + invited, active, invited }
}

/** The account with a confirmed e-mail address, case-insensitively. */
export async function findUserByEmail(db: Db, email: string) {
  return db
    .selectFrom('users')
    .select('id')
    .where(sql`lower(email)`, '=', email.toLowerCase())
    .executeTakeFirst()
}

export async function insertMembership(db: Db, row: Insertable<Schema['organization_memberships']>) {
  await db.insertInto('organization_memberships').values(row).execute()
}

export async function updateMembership(db: Db, id: string, changes: Updateable<Schema['organization_memberships']>) {
  await db.updateTable('organization_memberships').set(changes).where('id', '=', id).execute()
}

type UserMembership = { id: string; organizationId: string; userId: string; viaSso: boolean; now: Date }

/** Makes an account an active member of the organization unless it is one. */
export async function insertUserMembership(db: Db, membership: UserMembership) {
  const { id, organizationId, userId, viaSso, now } = membership
  await sql`insert into organization_memberships (id, organization_id, user_id, email, status, via_sso, created_at)
    select ${id}, ${organizationId}, u.id, coalesce(u.email, u.username), 'active', ${viaSso}, ${now}
      from users u where u.id = ${userId}
    on conflict (organization_id, user_id) do nothing`.execute(db)
}

/** Without the hash of a link, the invitations of the user's address: of one organization, or of all. */
type InvitedUser = { userId: string; organizationId?: string; linkHash?: Buffer | undefined; now: Date }
type AcceptedInvitation = {
  id: string
  organization_id: string
  email: string | null
  teams: Pick<TeamRow, 'id' | 'visibility'>[]
}

/** Turns invitations into memberships of a user, and adds the user to their teams. */
export async function acceptInvitations(tx: Tx, { userId, organizationId, linkHash, now }: InvitedUser) {
  const isTheirs =
    linkHash === undefined
      ? sql`lower(m.email) = lower(u.email)`
      : sql`(m.invitation_hash = ${linkHash} or m.mailed_invitation_hash = ${linkHash})`
  const { rows } = await sql<AcceptedInvitation>`
    with accepted as (
      update organization_memberships m set status = 'active', user_id = u.id, placeholder_id = null,
             invitation_hash = null, mailed_invitation_hash = null, invitation_expires_at = null
        from users u
       where u.id = ${userId} and m.status = 'invited' and ${isTheirs}
         ${organizationId === undefined ? sql`` : sql`and m.organization_id = ${organizationId}`}
         and not exists (select from organization_memberships x
                          where x.organization_id = m.organization_id and x.user_id = u.id)
      returning m.id, m.organization_id, m.email),
    joined as (
      insert into team_members (team_id, user_id, created_at)
      select i.team_id, ${userId}, ${now} from invited_team_members i join accepted a on a.id = i.membership_id
      on conflict do nothing
      returning team_id),
    spent as (delete from invited_team_members i using accepted a where i.membership_id = a.id)
    select id, organization_id, email, (select coalesce(json_agg(json_build_object('id', t.id, 'visibility', t.visibility)), '[]')
        from joined join teams t on t.id = joined.team_id where t.organization_id = accepted.organization_id) as teams
      from accepted`.execute(tx)
  for (const { organization_id: organizationId, teams } of rows) {
    if (teams.length > 0) await raiseAccessRevision(tx, { organizationId })
  }
  return rows
}

export async function deleteMembership(tx: Tx, id: string) {
  await tx.deleteFrom('organization_memberships').where('id', '=', id).execute()
}
