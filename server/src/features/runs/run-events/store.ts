import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

export async function findRunEvent(db: Db, id: string) {
  return db.selectFrom('run_events').selectAll().where('id', '=', id).executeTakeFirst()
}
export type RunEventRow = NonNullable<Awaited<ReturnType<typeof findRunEvent>>>

/** The events of the runs, oldest first. */
export async function listRunEvents(db: Db, runIds: readonly string[]) {
  const ofRuns = sql<boolean>`run_id = any(${runIds})`
  return db.selectFrom('run_events').selectAll().where(ofRuns).orderBy('seq').execute()
}
