import { type Insertable, sql, type Updateable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export async function insertCode(db: Db, row: Insertable<Schema['oauth_codes']>) {
  await db.insertInto('oauth_codes').values(row).execute()
}

/** Locks the row of a code, so that the second of two concurrent exchanges sees it used, and its session cannot end meanwhile. */
export async function lockCode(tx: Tx, hash: Buffer, now: Date) {
  return tx
    .selectFrom('oauth_codes as c')
    .selectAll()
    .select(
      sql<boolean>`exists (select from sessions s where s.id = c.session_id and s.expires_at > ${now})`.as(
        'has_session',
      ),
    )
    .where('hash', '=', hash)
    .forUpdate()
    .executeTakeFirst()
}

export async function updateCode(db: Db, hash: Buffer, changes: Updateable<Schema['oauth_codes']>) {
  await db.updateTable('oauth_codes').set(changes).where('hash', '=', hash).execute()
}

export async function deleteExpiredCodes(db: Db, before: Date) {
  await db.deleteFrom('oauth_codes').where('expires_at', '<', before).execute()
}
