import { type Selectable, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type NewRow, insertRows } from '../../../db/sql.ts'

type Stages = Schema['task_stages']

export async function listStatuses(db: Db, runId: string) {
  const stages = db.selectFrom('task_stages').select(['id', 'stage', 'status', 'deferred_until'])
  return stages.where('run_id', '=', runId).execute()
}

export async function insertStages(db: Db, rows: readonly NewRow<'task_stages'>[]) {
  await insertRows(db, 'task_stages', rows).execute()
}

/** Starts a pending stage, and returns whether it evaluates policies; undefined if it is not pending. */
export async function beginStage(tx: Tx, { runId, name, now }: { runId: string; name: string; now: Date }) {
  const { rows } = await sql<{ id: string; has_policies: boolean }>`update task_stages
       set status = 'running', updated_at = ${now}, status_timestamps = status_timestamps || ${stamp('running', now)}
     where run_id = ${runId} and stage = ${name} and status = 'pending'
    returning id, exists (select from policy_evaluations e where e.task_stage_id = task_stages.id) as has_policies`.execute(
    tx,
  )
  return rows[0]
}

type StageEnd = { status: 'passed' | 'failed' | 'errored' | 'awaiting_override'; message: string | null; now: Date }

/** Ends a running stage; undefined if it is not running. */
export async function endStage(tx: Tx, id: string, { status, message, now }: StageEnd) {
  const { rows } = await sql<{ run_id: string; stage: string; started_at: Date }>`update task_stages
       set status = ${status}, message = ${message}, updated_at = ${now},
           status_timestamps = status_timestamps || ${stamp(status, now)}
     where id = ${id} and status = 'running'
    returning run_id, stage, (status_timestamps->>'running')::timestamptz as started_at`.execute(tx)
  return rows[0]
}

/** Passes a stage that awaits an override; undefined if it does not. */
export async function overrideStage(tx: Tx, id: string, now: Date) {
  const { rows } = await sql<{ run_id: string }>`update task_stages
       set status = 'passed', updated_at = ${now}, status_timestamps = status_timestamps || ${stamp('passed', now)}
     where id = ${id} and status = 'awaiting_override'
    returning run_id`.execute(tx)
  return rows[0]
}

/** Defers the effect of a stage's result on its run. */
export async function deferResult(tx: Tx, id: string, deferredUntil: Date) {
  await tx.updateTable('task_stages').set({ deferred_until: deferredUntil }).where('id', '=', id).execute()
}

/** Ends the deferral of a result; undefined if none is deferred. */
export async function releaseResult(tx: Tx, runId: string) {
  return tx
    .updateTable('task_stages')
    .set({ deferred_until: null })
    .where('run_id', '=', runId)
    .where('deferred_until', 'is not', null)
    .returning('message')
    .executeTakeFirst()
}

/** Cancels running stages, makes pending ones unreachable, and drops a deferred result. */
export async function cancelStages(tx: Tx, runId: string, now: Date) {
  await sql`update task_stages set deferred_until = null where run_id = ${runId} and deferred_until is not null`.execute(
    tx,
  )
  await sql`update task_stages
       set status = case status when 'pending' then 'unreachable' else 'canceled' end, updated_at = ${now},
           status_timestamps = status_timestamps
             || case status when 'pending' then ${stamp('unreachable', now)} else ${stamp('canceled', now)} end
     where run_id = ${runId} and status in ('pending', 'running', 'awaiting_override')`.execute(tx)
}

function stamp(status: Selectable<Stages>['status'], now: Date) {
  return sql`${JSON.stringify({ [status]: now.toISOString() })}::jsonb`
}
