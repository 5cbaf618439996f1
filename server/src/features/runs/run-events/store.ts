import { sql } from 'kysely'
import type { Db } from '../../../db/db.ts'

export async function findRunEvent(db: Db, id: string) {
  return db.selectFrom('run_events').selectAll().where('id', '=', id).executeTakeFirst()
}
export type RunEventRow = NonNullable<Awaited<ReturnType<typeof findRunEvent>>>

/** The events of a run, the oldest first. */
export async function listRunEvents(db: Db, runId: string) {
  return db.selectFrom('run_events').selectAll().where('run_id', '=', runId).orderBy('seq').execute()
}

/** As `listRunEvents`, of several runs. */
export async function listEventsOfRuns(db: Db, runIds: readonly string[]) {
  return db
    .selectFrom('run_events')
    .selectAll()
    .where(sql<boolean>`run_id = any(${runIds})`)
    .orderBy('seq')
    .execute()
}
