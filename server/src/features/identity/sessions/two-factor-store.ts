import type { Selectable, Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export type TwoFactorRow = Selectable<Schema['two_factor_secrets']>

/** Whether the user needs a code to sign in. An unverified secret does not count. */
export async function hasTwoFactor(db: Db, userId: string) {
  const row = await db.selectFrom('two_factor_secrets').selectAll().where('user_id', '=', userId).executeTakeFirst()
  return Boolean(row?.verified_at)
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

export async function deleteTwoFactor(db: Db, userId: string) {
  await db.deleteFrom('two_factor_secrets').where('user_id', '=', userId).execute()
}

export async function replaceRecoveryCodes(db: Db, userId: string, hashes: readonly Buffer[]) {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await db
    .insertInto('recovery_codes')
    .values(hashes.map((hash) => ({ user_id: userId, hash })))
    .execute()
}

/** Whether the code existed. */
export async function deleteRecoveryCode(db: Db, userId: string, hash: Buffer) {
  const result = await db
    .deleteFrom('recovery_codes')
    .where('user_id', '=', userId)
    .where('hash', '=', hash)
    .executeTakeFirst()
  return result.numDeletedRows > 0n
}
