import { sql } from 'kysely'
import type { Db, Page, Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import { pipeline } from '../../../db/pipeline.ts'
import { containing } from '../../../db/sql.ts'

const SITE_ADMINS_LOCK = 7_077_002

/** Serialises changes that could leave the site without an administrator, or create two first ones. */
export async function lockSiteAdmins(tx: Tx) {
  await sql`select pg_advisory_xact_lock(${sql.lit(SITE_ADMINS_LOCK)})`.execute(tx)
}

export async function findFirstSiteAdmin(db: Db) {
  return db
    .selectFrom('users')
    .selectAll()
    .where('is_site_admin', '=', true)
    .where('suspended_at', 'is', null)
    .orderBy('created_at')
    .limit(1)
    .executeTakeFirst()
}

export type UserFilter = Record<'isAdmin' | 'isSuspended' | 'hasTwoFactor' | 'isUnconfirmed', boolean | undefined> & {
  q: string | undefined
}

const lastActiveAt = sql<Date | null>`greatest(
  (select max(s.last_used_at) from sessions s where s.user_id = users.id),
  (select max(t.last_used_at) from tokens t where t.user_id = users.id))`.as('last_active_at')

export async function listSiteUsers(
  db: Db,
  { q, isAdmin, isSuspended, hasTwoFactor, isUnconfirmed }: UserFilter,
  page: Page,
) {
  let all = db.selectFrom('users').where('is_service_account', '=', false)
  if (q !== undefined) {
    const pattern = containing(q)
    all = all.where((eb) => eb.or([eb('username', 'ilike', pattern), eb('email', 'ilike', pattern)]))
  }
  if (isAdmin !== undefined) all = all.where('is_site_admin', '=', isAdmin)
  if (isSuspended !== undefined) all = all.where('suspended_at', isSuspended ? 'is not' : 'is', null)
  if (isUnconfirmed !== undefined) all = all.where('unconfirmed_email', isUnconfirmed ? 'is not' : 'is', null)
  if (hasTwoFactor !== undefined) {
    const verified = sql<boolean>`exists (select from two_factor_secrets f where f.user_id = users.id and f.verified_at is not null)`
    // Single sign-on and programs have no code, so only accounts with a password can lack one.
    all = hasTwoFactor ? all.where(verified) : all.where(sql<boolean>`password_hash is not null and not ${verified}`)
  }
  const list = all
    .leftJoin('two_factor_secrets as f', 'f.user_id', 'users.id')
    .selectAll('users')
    .select(['f.verified_at as two_factor_at', lastActiveAt])
  return readPaged(page, list.orderBy('users.created_at').orderBy('users.id'), all)
}

export type AdminUserRow = Awaited<ReturnType<typeof listSiteUsers>>['rows'][number]

export async function findSiteUser(db: Db, id: string) {
  return db
    .selectFrom('users')
    .leftJoin('two_factor_secrets as f', 'f.user_id', 'users.id')
    .selectAll('users')
    .select(['f.verified_at as two_factor_at', lastActiveAt])
    .where('users.id', '=', id)
    .where('is_service_account', '=', false)
    .executeTakeFirst()
}

export async function countOtherAdmins(db: Db, userId: string) {
  const row = await db
    .selectFrom('users')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('is_site_admin', '=', true)
    .where('suspended_at', 'is', null)
    .where('id', '!=', userId)
    .executeTakeFirstOrThrow()
  return row.count
}

/** Names of the organizations whose only owner is this user. Locks their owners teams. */
export async function listSoleOwnerships(tx: Tx, userId: string) {
  const owned = await tx
    .selectFrom('teams as t')
    .innerJoin('team_members as m', 'm.team_id', 't.id')
    .innerJoin('organizations as o', 'o.id', 't.organization_id')
    .select(['t.id', 't.service_user_id', 'o.name'])
    .where('t.is_owners', '=', true)
    .where('m.user_id', '=', userId)
    .orderBy('t.id')
    .forUpdate('t')
    .execute()
  const others = await tx
    .selectFrom('team_members')
    .innerJoin('users as u', 'u.id', 'user_id')
    .select('team_id')
    .distinct()
    // A suspended owner cannot act for the organization.
    .where('u.suspended_at', 'is', null)
    .where(sql<boolean>`team_id = any(${owned.map((team) => team.id)}::text[])`)
    .where(sql<boolean>`user_id <> all(${[userId, ...owned.map((team) => team.service_user_id)]}::text[])`)
    .execute()
  const retained = new Set(others.map((row) => row.team_id))
  return owned.filter((team) => !retained.has(team.id)).map((team) => team.name)
}

export async function deleteUser(db: Db, id: string) {
  await db.deleteFrom('users').where('id', '=', id).execute()
}

export async function listSiteOrganizations(db: Db, q: string | undefined, page: Page) {
  let all = db.selectFrom('organizations')
  if (q !== undefined) {
    const pattern = containing(q)
    all = all.where((eb) => eb.or([eb('name', 'ilike', pattern), eb('email', 'ilike', pattern)]))
  }
  return readPaged(page, all.selectAll().orderBy(sql`lower(name)`), all)
}

export type SiteOrganizationRow = Awaited<ReturnType<typeof listSiteOrganizations>>['rows'][number]

export async function findSiteOrganization(db: Db, name: string) {
  return db
    .selectFrom('organizations')
    .selectAll()
    .where(sql<boolean>`lower(name) = ${name.toLowerCase()}`)
    .executeTakeFirst()
}

export type Plan = SiteOrganizationRow['plan']

/** The organizations and teams that a user is a member of. */
export async function listMembershipsOf(tx: Tx, userId: string) {
  const [memberships, teams] = await pipeline(tx, [
    tx.selectFrom('organization_memberships').select(['id', 'organization_id']).where('user_id', '=', userId),
    tx
      .selectFrom('team_members as m')
      .innerJoin('teams as t', 't.id', 'm.team_id')
      .select(['t.id', 't.organization_id', 't.visibility'])
      .where('m.user_id', '=', userId),
  ])
  return { memberships, teams }
}

/** The memberships of a user by organization, with the user's teams. */
export async function listSiteMemberships(db: Db, userId: string, page: Page) {
  const all = db.selectFrom('organization_memberships as m').where('m.user_id', '=', userId)
  const list = all
    .innerJoin('organizations as o', 'o.id', 'm.organization_id')
    .select(['m.id', 'm.status', 'm.created_at', 'o.name as organization_name'])
    .select([
      sql<{ id: string; name: string }[]>`array(
        select json_build_object('id', t.id, 'name', t.name) from team_members tm join teams t on t.id = tm.team_id
         where tm.user_id = m.user_id and t.organization_id = m.organization_id order by t.name)`.as('teams'),
      sql<boolean>`exists (
        select from teams t join team_members tm on tm.team_id = t.id
         where t.organization_id = m.organization_id and t.is_owners and tm.user_id = m.user_id and not exists (
           select from team_members other join users u on u.id = other.user_id
            where other.team_id = t.id and other.user_id <> m.user_id and u.suspended_at is null
              and not u.is_service_account))`.as('is_last_owner'),
    ])
    .orderBy('o.name')
    .orderBy('m.id')
  return readPaged(page, list, all)
}
export type SiteMembershipRow = Awaited<ReturnType<typeof listSiteMemberships>>['rows'][number]
