import type { Insertable } from 'kysely'
import type { Db } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export async function insertPasswordReset(db: Db, row: Insertable<Schema['password_resets']>) {
  await db.insertInto('password_resets').values(row).execute()
}

/** The account of a link that has not expired. */
export async function findPasswordReset(db: Db, hash: Buffer, now: Date) {
  return db
    .selectFrom('password_resets as r')
    .innerJoin('users as u', 'u.id', 'r.user_id')
    .selectAll('u')
    .select('r.expires_at')
    .where('r.hash', '=', hash)
    .where('r.expires_at', '>', now)
    .executeTakeFirst()
}

/** Deletes a link. False if it was used in the meantime. */
export async function deletePasswordReset(db: Db, hash: Buffer) {
  const { numDeletedRows } = await db.deleteFrom('password_resets').where('hash', '=', hash).executeTakeFirst()
  return numDeletedRows > 0n
}
