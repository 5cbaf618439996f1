import type { Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export async function findSecondFactor(db: Db, userId: string) {
  return db.selectFrom('second_factors').selectAll().where('user_id', '=', userId).executeTakeFirst()
}

/** Whether signing in takes a code. A factor that was never verified does not count. */
export async function hasSecondFactor(db: Db, userId: string) {
  return Boolean((await findSecondFactor(db, userId))?.verified_at)
}

export async function lockSecondFactor(tx: Tx, userId: string) {
  return tx.selectFrom('second_factors').selectAll().where('user_id', '=', userId).forUpdate().executeTakeFirst()
}

/** Starts an enrollment over. It does not change a verified factor, which must be switched off first. */
export async function upsertSecondFactor(
  db: Db,
  { userId, secret, now }: { userId: string; secret: Buffer; now: Date },
) {
  await db
    .insertInto('second_factors')
    .values({ user_id: userId, secret, created_at: now })
    .onConflict((conflict) =>
      conflict
        .column('user_id')
        .doUpdateSet({ secret, created_at: now, last_step: 0 })
        .where('second_factors.verified_at', 'is', null),
    )
    .execute()
}

export async function updateSecondFactor(db: Db, userId: string, changes: Updateable<Schema['second_factors']>) {
  await db.updateTable('second_factors').set(changes).where('user_id', '=', userId).execute()
}

export async function deleteSecondFactor(db: Db, userId: string) {
  await db.deleteFrom('second_factors').where('user_id', '=', userId).execute()
}

export async function replaceRecoveryCodes(db: Db, userId: string, hashes: readonly Buffer[]) {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await db
    .insertInto('recovery_codes')
    .values(hashes.map((hash) => ({ user_id: userId, hash })))
    .execute()
}

/** Returns whether the code existed. */
export async function deleteRecoveryCode(db: Db, userId: string, hash: Buffer) {
  const result = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('hash', '=', hash)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}
