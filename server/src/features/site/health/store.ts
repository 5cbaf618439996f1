import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** Throws when the database does not answer. */
export async function pingDatabase(db: Db) {
  await sql`select 1`.execute(db)
}
