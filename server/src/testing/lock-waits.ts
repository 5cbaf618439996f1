import { sql } from 'kysely'
import type { Db } from '../db/db.ts'

/** Number of statements in the database that wait for a lock of another transaction. */
export async function countLockWaits(db: Db): Promise<number> {
  const { rows } = await sql`select from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`.execute(db)
  return rows.length
}
