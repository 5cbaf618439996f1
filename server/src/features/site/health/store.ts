import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

/** Throws if the database does not respond. */
export async function pingDatabase(db: Db) {
  await sql`select 1`.execute(db)
}
