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

export type SsoTeam = Pick<Selectable<Schema['teams']>, 'id' | 'organization_id' | 'name' | 'visibility' | 'is_owners'>

type UserGroups = { userId: string; groups: readonly string[]; everywhere: boolean }

/** The teams of groups by SSO id, else by name, except owners: a group with that name would own every organization. */
export async function listTeamsOfGroups(db: Db, { userId, groups, everywhere }: UserGroups) {
  const { rows } = await sql<SsoTeam>`
    select t.id, t.organization_id, t.name, t.visibility, t.is_owners from teams t join organizations o on o.id = t.organization_id
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
