import { type Insertable, type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { lowered } from '../../../db/sql.ts'

export type Identity = { issuer: string; subject: string }

export async function findIdentity(db: Db, identity: Identity) {
  return db
    .selectFrom('sso_identities')
    .selectAll()
    .where((eb) => eb.and(identity))
    .executeTakeFirst()
}

/** Whether the account is already linked to an identity of the provider. */
export async function hasIdentity(db: Db, issuer: string, userId: string) {
  const row = await db
    .selectFrom('sso_identities')
    .select('subject')
    .where('issuer', '=', issuer)
    .where('user_id', '=', userId)
    .executeTakeFirst()
  return row !== undefined
}

export async function insertIdentity(db: Db, row: Insertable<Schema['sso_identities']>) {
  await db.insertInto('sso_identities').values(row).execute()
}

export async function touchIdentity(db: Db, identity: Identity, now: Date) {
  await db
    .updateTable('sso_identities')
    .set({ last_sign_in_at: now })
    .where((eb) => eb.and(identity))
    .execute()
}

type Team = Selectable<Schema['teams']>
export type SsoTeam = Pick<Team, 'id' | 'organization_id' | 'name' | 'visibility' | 'is_owners'>

type UserGroups = { userId: string; groups: readonly string[]; everywhere: boolean }

/** The teams of groups by SSO id, else by name, except owners: a group with that name would own every organization. */
export async function listTeamsOfGroups(db: Db, { userId, groups, everywhere }: UserGroups) {
  const { rows } = await sql<SsoTeam & { organization_name: string }>`
    select t.id, t.organization_id, t.name, t.visibility, t.is_owners, o.name as organization_name
      from teams t join organizations o on o.id = t.organization_id
     where (t.sso_team_id = any(${groups})
            or (t.is_owners and o.owners_team_saml_role_id = any(${groups}))
            or (t.sso_team_id is null and not t.is_owners and lower(t.name) in ${lowered(groups)}))
       and (${everywhere} or exists (
             select from organization_memberships m where m.organization_id = t.organization_id and m.user_id = ${userId}))
     order by t.id`.execute(db)
  return rows
}

export async function listTeamsOfUser(db: Db, userId: string) {
  return db
    .selectFrom('team_members as m')
    .innerJoin('teams as t', 't.id', 'm.team_id')
    .select(['t.id', 't.organization_id', 't.name', 't.visibility', 't.is_owners', 'm.via_sso'])
    .where('m.user_id', '=', userId)
    .orderBy('t.id')
    .execute()
}

/** Deletes and returns the memberships created by sign-on that no team requires any more. */
export async function deleteLeftMemberships(tx: Tx, userId: string) {
  const { rows } = await sql<{ id: string; organization_id: string }>`
    delete from organization_memberships m where m.user_id = ${userId} and m.via_sso and not exists (
    select from team_members tm join teams t on t.id = tm.team_id
     where tm.user_id = ${userId} and t.organization_id = m.organization_id)
    returning m.id, m.organization_id`.execute(tx)
  return rows
}

export async function saveSignInSettings(db: Db, row: Insertable<Schema['sign_in_settings']>) {
  await db
    .insertInto('sign_in_settings')
    .values(row)
    .onConflict((conflict) => conflict.column('only_row').doUpdateSet(row))
    .execute()
}

const SETTINGS_LOCK = 7_077_006

/** Serialises changes of the sign-in settings. */
export async function lockSignInSettings(tx: Tx) {
  await sql`select pg_advisory_xact_lock(${sql.lit(SETTINGS_LOCK)})`.execute(tx)
}

export type TrialRow = Selectable<Schema['sign_in_trials']>

export async function insertTrial(db: Db, row: Insertable<Schema['sign_in_trials']>) {
  return db.insertInto('sign_in_trials').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function findTrial(db: Db, id: string) {
  return db.selectFrom('sign_in_trials').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Stores the result of a trial that has none; returns whether it had none. */
export async function finishTrial(
  db: Db,
  id: string,
  result: Pick<Insertable<Schema['sign_in_trials']>, 'result' | 'proves_sign_in' | 'finished_at'>,
) {
  const { numUpdatedRows } = await db
    .updateTable('sign_in_trials')
    .set(result)
    .where('id', '=', id)
    .where('finished_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** When an administrator last signed in with these settings, since `since`. */
export async function findProof(db: Db, fingerprint: string, since: Date) {
  const row = await db
    .selectFrom('sign_in_trials')
    .select('finished_at')
    .where('fingerprint', '=', fingerprint)
    .where('proves_sign_in', '=', true)
    .where('finished_at', '>', since)
    .orderBy('finished_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.finished_at ?? undefined
}
