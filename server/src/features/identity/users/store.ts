import { type Insertable, type RawBuilder, type Selectable, sql, type Updateable } from 'kysely'
import type { Actor } from '../../../auth/actor.ts'
import { acceptsCredentials } from '../../../auth/visibility.ts'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type UserRow = Selectable<Schema['users']>

export async function insertUser(db: Db, row: Insertable<Schema['users']>) {
  return db.insertInto('users').values(row).returningAll().executeTakeFirstOrThrow()
}

export async function updateUser(db: Db, id: string, changes: Updateable<Schema['users']>) {
  return db.updateTable('users').set(changes).where('id', '=', id).returningAll().executeTakeFirst()
}

/** Deletes the links that set the user's password. */
export async function deletePasswordResets(db: Db, userId: string) {
  await db.deleteFrom('password_resets').where('user_id', '=', userId).execute()
}

export async function findUser(db: Db, id: string) {
  return db.selectFrom('users').selectAll().where('id', '=', id).executeTakeFirst()
}

/** Finds the account with that username or confirmed e-mail address, case-insensitively. Service accounts cannot sign in. */
export async function findUserByLogin(db: Db, login: string) {
  const text = login.toLowerCase()
  return db
    .selectFrom('users')
    .selectAll()
    .where((eb) => eb.or([eb(sql`lower(username)`, '=', text), eb(sql`lower(email)`, '=', text)]))
    .where('is_service_account', '=', false)
    .limit(1)
    .executeTakeFirst()
}

export async function listUsersByIds(db: Db, ids: readonly string[]) {
  if (ids.length === 0) return []
  return db
    .selectFrom('users')
    .selectAll()
    .where(sql<boolean>`id = any(${[...new Set(ids)]}::text[])`)
    .execute()
}

/** Replaces the uploaded avatar of a user. */
export async function upsertAvatar(db: Db, row: Insertable<Schema['avatars']>) {
  const { file, content } = row
  await db
    .insertInto('avatars')
    .values(row)
    .onConflict((conflict) => conflict.column('user_id').doUpdateSet({ file, content }))
    .execute()
}

export async function deleteAvatar(db: Db, userId: string) {
  await db.deleteFrom('avatars').where('user_id', '=', userId).execute()
}

export async function findAvatar(db: Db, file: string) {
  return db.selectFrom('avatars').select('content').where('file', '=', file).executeTakeFirst()
}

/** The account with which the engine of a run writes state (INTERFACE §3.3). It belongs to no organization. */
export const RUNS_USER_ID = 'user-GroundstateRuns1'

/** SQL of the ids of a user's organizations, by membership or by team. */
function organizationsOf(userId: RawBuilder<unknown>) {
  return sql`(select m.organization_id from organization_memberships m where m.user_id = ${userId} and m.status = 'active'
    union all
    select t.organization_id from team_members tm join teams t on t.id = tm.team_id where tm.user_id = ${userId})`
}

/** SQL condition: the actor may see the user `u` (an alias of `users` in the query). */
function visibleUser(actor: Actor) {
  if (actor.kind === 'system' || (actor.kind === 'user' && actor.isSiteAdmin)) return sql<boolean>`true`
  if (actor.kind === 'user') {
    return sql<boolean>`(u.id = ${actor.userId} or u.id = ${RUNS_USER_ID} or exists (
      select from ${organizationsOf(sql`u.id`)} theirs
         join organizations o on o.id = theirs.organization_id and ${acceptsCredentials(actor)}
       where theirs.organization_id in ${organizationsOf(sql`${actor.userId}`)}))`
  }
  if (actor.kind !== 'organization' && actor.kind !== 'run') return sql<boolean>`false`
  return sql<boolean>`(u.id = ${RUNS_USER_ID} or ${actor.organizationId} in ${organizationsOf(sql`u.id`)})`
}

export async function findVisibleUser(db: Db, actor: Actor, id: string) {
  return db.selectFrom('users as u').selectAll('u').where('u.id', '=', id).where(visibleUser(actor)).executeTakeFirst()
}
