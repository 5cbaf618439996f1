import { type Selectable, sql } from 'kysely'
import type { Db, Page } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { insertRows } from '../../../db/sql.ts'
import type { AttemptColumns } from '../../../deliveries/attempts.ts'

export type StatusDeliveryRow = Selectable<Schema['commit_status_deliveries']>
type NewDelivery = Omit<StatusDeliveryRow, keyof AttemptColumns> & AttemptColumns

export async function insertDeliveries(db: Db, rows: readonly NewDelivery[]) {
  await insertRows(db, 'commit_status_deliveries', rows).execute()
}

type Filter = { workspaceId: string; runId: string | undefined; page: Page }

/** The requests about a workspace, or about one of its runs, latest first. */
export async function listDeliveries(db: Db, { workspaceId, runId, page }: Filter) {
  const all = db
    .selectFrom('commit_status_deliveries')
    .where('workspace_id', '=', workspaceId)
    .$if(runId !== undefined, (query) => query.where('run_id', '=', runId ?? ''))
  return readPaged(page, all.selectAll().orderBy('sent_at', 'desc').orderBy('id', 'desc'), all)
}

/** Makes the latest status of a run due, also if the host has it; false if the run has none, or a later run replaced it. */
export async function resendStatus(db: Db, runId: string, now: Date) {
  const { numAffectedRows = 0n } = await sql`update commit_statuses
       set version = version + 1, sent = null, error = null, due_at = ${now} where run_id = ${runId}`.execute(db)
  return numAffectedRows > 0n
}

/** Deletes the oldest deliveries; returns their number. */
export async function deleteDeliveries(db: Db, before: Date, limit: number) {
  const { numAffectedRows = 0n } = await sql`delete from commit_status_deliveries where id = any(array(
    select id from commit_status_deliveries where sent_at < ${before} order by sent_at, id limit ${limit}))`.execute(db)
  return Number(numAffectedRows)
}
