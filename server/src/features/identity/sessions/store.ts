import { type Insertable, type Selectable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { insertRows } from '../../../db/sql.ts'
import type { UserRow } from '../users/store.ts'

export type SessionRow = Selectable<Schema['sessions']>

export async function insertSession(db: Db, row: Insertable<Schema['sessions']>) {
  return db.insertInto('sessions').values(row).returningAll().executeTakeFirstOrThrow()
}

/** Locks an account against changes of its password and suspension. False if it is suspended, or has another password than `user`. */
export async function lockSignIn(tx: Tx, { id, password_hash: hash }: UserRow) {
  const row = await tx
    .selectFrom('users')
    .select('id')
    .where('id', '=', id)
    .where('password_hash', 'is not distinct from', hash)
    .where('suspended_at', 'is', null)
    .forShare()
    .executeTakeFirst()
  return row !== undefined
}

export async function findSession(db: Db, id: string) {
  return db.selectFrom('sessions').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function listSessions(db: Db, userId: string, now: Date) {
  return db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('expires_at', '>', now)
    .where(sql<boolean>`last_used_at > ${now}::timestamptz - make_interval(mins => idle_minutes)`)
    .orderBy('last_used_at', 'desc')
    .orderBy('id')
    .execute()
}

/** Deletes one session of a user, all, or all but one. Returns their number. */
export async function deleteSessions(db: Db, userId: string, which: { id?: string; except?: string | undefined } = {}) {
  let query = db.deleteFrom('sessions').where('user_id', '=', userId)
  if (which.id !== undefined) query = query.where('id', '=', which.id)
  if (which.except !== undefined) query = query.where('id', '!=', which.except)
  const result = await query.executeTakeFirst()
  return Number(result.numDeletedRows)
}

export type Attempts = { count: number; startedAt: Date }

export async function findAttempts(db: Db, key: string): Promise<Attempts | undefined> {
  return db
    .selectFrom('sign_in_attempts')
    .select(['count', 'started_at as startedAt'])
    .where('key', '=', key)
    .executeTakeFirst()
}

type CountAttempt = { key: string; now: Date; windowMs: number }

/** Increments a counter, or restarts it when its window has passed. */
export async function countAttempt(db: Db, { key, now, windowMs }: CountAttempt): Promise<Attempts> {
  const passed = new Date(now.getTime() - windowMs)
  const row = await db
    .insertInto('sign_in_attempts')
    .values({ key, count: 1, started_at: now })
    .onConflict((conflict) =>
      conflict.column('key').doUpdateSet({
        count: sql<number>`case when sign_in_attempts.started_at <= ${passed} then 1 else sign_in_attempts.count + 1 end`,
        started_at: sql<Date>`case when sign_in_attempts.started_at <= ${passed} then ${now} else sign_in_attempts.started_at end`,
      }),
    )
    .returning(['count', 'started_at'])
    .executeTakeFirstOrThrow()
  return { count: row.count, startedAt: row.started_at }
}

export async function uncountAttempt(db: Db, key: string) {
  await db
    .updateTable('sign_in_attempts')
    .set((eb) => ({ count: eb('count', '-', 1) }))
    .where('key', '=', key)
    .where('count', '>', 0)
    .execute()
}

export async function deleteAttempts(db: Db, key: string) {
  await db.deleteFrom('sign_in_attempts').where('key', '=', key).execute()
}

type SignInPlace = { userId: string; place: string; since: Date }

export async function findSignInPlace(db: Db, { userId, place, since }: SignInPlace) {
  return db
    .selectFrom('sign_in_places')
    .selectAll()
    .where('user_id', '=', userId)
    .where('place', '=', place)
    .where('last_at', '>', since)
    .executeTakeFirst()
}

export async function recordSignInPlace(db: Db, row: Insertable<Schema['sign_in_places']>) {
  await db
    .insertInto('sign_in_places')
    .values(row)
    .onConflict((conflict) => conflict.columns(['user_id', 'place']).doUpdateSet({ last_at: row.last_at }))
    .execute()
}

type Outdated = Record<'now' | 'attemptsBefore' | 'placesBefore' | 'trialsBefore', Date>

export async function deleteOutdated(db: Db, { now, attemptsBefore, placesBefore, trialsBefore }: Outdated) {
  await db.deleteFrom('sessions').where('expires_at', '<=', now).execute()
  await db.deleteFrom('password_resets').where('expires_at', '<=', now).execute()
  await db.deleteFrom('sign_in_attempts').where('started_at', '<', attemptsBefore).execute()
  await db.deleteFrom('sign_in_places').where('last_at', '<', placesBefore).execute()
  await db.deleteFrom('sign_in_trials').where('created_at', '<', trialsBefore).execute()
}

export type TwoFactorRow = Selectable<Schema['two_factor_secrets']>

/** When the user's authenticator was confirmed. Undefined without one: an unverified secret does not count. */
export async function findTwoFactorStart(db: Db, userId: string) {
  const row = await db.selectFrom('two_factor_secrets').selectAll().where('user_id', '=', userId).executeTakeFirst()
  return row?.verified_at ?? undefined
}

/** Whether the user needs a code to sign in. */
export async function hasTwoFactor(db: Db, userId: string) {
  return (await findTwoFactorStart(db, userId)) !== undefined
}

export async function lockTwoFactor(tx: Tx, userId: string) {
  return tx.selectFrom('two_factor_secrets').selectAll().where('user_id', '=', userId).forUpdate().executeTakeFirst()
}

/** Starts an enrollment or restarts it; a verified secret stays unchanged. */
export async function upsertTwoFactor(db: Db, { userId, secret, now }: { userId: string; secret: Buffer; now: Date }) {
  await db
    .insertInto('two_factor_secrets')
    .values({ user_id: userId, secret, created_at: now })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet({ secret, created_at: now, last_step: 0 })
        .where('two_factor_secrets.verified_at', 'is', null),
    )
    .execute()
}

export async function updateTwoFactor(db: Db, userId: string, changes: Updateable<Schema['two_factor_secrets']>) {
  await db.updateTable('two_factor_secrets').set(changes).where('user_id', '=', userId).execute()
}

export async function deleteUnverifiedTwoFactor(db: Db, userId: string) {
  await db.deleteFrom('two_factor_secrets').where('user_id', '=', userId).where('verified_at', 'is', null).execute()
}

export async function deleteTwoFactor(db: Db, userId: string) {
  await db.deleteFrom('two_factor_secrets').where('user_id', '=', userId).execute()
}

export async function replaceRecoveryCodes(db: Db, userId: string, hashes: readonly Buffer[]) {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  const rows = hashes.map((hash) => ({ user_id: userId, hash }))
  await insertRows(db, 'recovery_codes', rows).execute()
}

export async function deleteRecoveryCode(db: Db, userId: string, hash: Buffer) {
  const result = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('hash', '=', hash)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}

export async function findSignInSettings(db: Db) {
  return db.selectFrom('sign_in_settings').selectAll().executeTakeFirst()
}
