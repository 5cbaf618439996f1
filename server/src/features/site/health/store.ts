import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

export async function pingDatabase(db: Db) {
  await sql`select 1`.execute(db)
}
