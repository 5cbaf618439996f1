import { type Insertable, sql, type Selectable } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'

export async function listStatuses(db: Db, runId: string) {
  return db
    .selectFrom('task_stages')
    .select(['id', 'stage', 'status', 'held_until'])
    .where('run_id', '=', runId)
    .execute()
}

export async function insertStages(db: Db, rows: readonly Insertable<Schema['task_stages']>[]) {
  await db
    .insertInto('task_stages')
    .values([...rows])
    .execute()
}

/** Starts a pending stage; undefined when it is not pending. */
export async function beginStage(tx: Tx, { runId, name, now }: { runId: string; name: string; now: Date }) {
  const { rows } = await sql<{ id: string }>`update task_stages
       set status = 'running', updated_at = ${now}, status_timestamps = status_timestamps || ${stamp('running', now)}
     where run_id = ${runId} and stage = ${name} and status = 'pending'
    returning id`.execute(tx)
  return rows[0]
}

/** Ends a running stage; undefined when it has ended already. */
export async function endStage(tx: Tx, id: string, { status, message, now }: StageEnd) {
  const { rows } = await sql<EndedStage>`update task_stages
       set status = ${status}, message = ${message}, updated_at = ${now},
           status_timestamps = status_timestamps || ${stamp(status, now)}
     where id = ${id} and status = 'running'
    returning run_id, stage, (status_timestamps->>'running')::timestamptz as started_at`.execute(tx)
  return rows[0]
}

/** Defers the verdict of a stage: its run gets it at that time. */
export async function deferResult(tx: Tx, id: string, deferredUntil: Date) {
  await tx.updateTable('task_stages').set({ held_until: deferredUntil }).where('id', '=', id).execute()
}

/** Ends the deferral of a run's verdict; undefined when none is deferred. */
export async function releaseResult(tx: Tx, runId: string) {
  return tx
    .updateTable('task_stages')
    .set({ held_until: null })
    .where('run_id', '=', runId)
    .where('held_until', 'is not', null)
    .returning('message')
    .executeTakeFirst()
}

/** Cancels a stage that is under way, makes pending ones unreachable, and drops a deferred verdict. */
export async function cancelStages(tx: Tx, runId: string, now: Date) {
  await sql`update task_stages set held_until = null where run_id = ${runId} and held_until is not null`.execute(tx)
  await sql`update task_stages
       set status = case status when 'pending' then 'unreachable' else 'canceled' end, updated_at = ${now},
           status_timestamps = status_timestamps
             || case status when 'pending' then ${stamp('unreachable', now)} else ${stamp('canceled', now)} end
     where run_id = ${runId} and status in ('pending', 'running', 'awaiting_override')`.execute(tx)
}

export type StageEnd = { status: 'passed' | 'failed' | 'errored'; message: string | null; now: Date }

export type EndedStage = { run_id: string; stage: string; started_at: Date }

export function stamp(status: Selectable<Schema['task_stages']>['status'], now: Date) {
  return sql`${JSON.stringify({ [status]: now.toISOString() })}::jsonb`
}
