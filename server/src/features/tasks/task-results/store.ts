import { type Selectable, sql } from 'kysely'
import { shareAccess } from '../../../auth/access-context.ts'
import { sharedAccessColumn, workspaceAccessColumn } from '../../../auth/access-sql.ts'
import type { Actor } from '../../../auth/actor.ts'
import type { Db, Tx } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { insertRows } from '../../../db/sql.ts'

export type TaskResultRow = Omit<Selectable<Schema['task_results']>, 'access_token'>
export type TaskResultStatus = TaskResultRow['status']

const COLUMNS = [
  'r.id',
  'r.task_stage_id',
  'r.run_id',
  'r.stage',
  'r.task_id',
  'r.task_name',
  'r.task_url',
  'r.workspace_task_id',
  'r.agent_pool_id',
  'r.enforcement_level',
  'r.status',
  'r.status_timestamps',
  'r.message',
  'r.url',
  'r.outcomes_count',
  'r.outcome_levels',
  'r.started_at',
  'r.deadline_at',
  'r.called_back_at',
  'r.delivered_at',
  'r.attempts',
  'r.delivery_due_at',
  'r.lease_expires_at',
  'r.created_at',
  'r.updated_at',
] as const

/** Results with their run's workspace and its access context. */
function selectResults(db: Db, access: ReturnType<typeof workspaceAccessColumn>) {
  return db
    .selectFrom('task_results as r')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .innerJoin('workspaces as w', 'w.id', 'runs.workspace_id')
    .select(COLUMNS)
    .select(['runs.plan_only', 'w.id as workspace_id', 'w.name as workspace_name', 'w.organization_id'])
    .select(access.as('access'))
}

export async function findTaskResult(db: Db, actor: Actor, id: string) {
  return selectResults(db, workspaceAccessColumn(actor)).where('r.id', '=', id).executeTakeFirst()
}

export async function findTaskResults(db: Db, actor: Actor, ids: readonly string[]) {
  const rows = await selectResults(db, sharedAccessColumn(actor))
    .where(sql<boolean>`r.id = any(${ids})`)
    .execute()
  return shareAccess(rows)
}

/** The results of stages by task name. The caller has authorised the runs. */
export async function listResults(db: Db, stageIds: readonly string[]) {
  return db
    .selectFrom('task_results as r')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .select(COLUMNS)
    .select('runs.plan_only')
    .where(sql<boolean>`r.task_stage_id = any(${stageIds})`)
    .orderBy('r.task_name')
    .orderBy('r.id')
    .execute()
}

type NewResult = Pick<
  TaskResultRow,
  | 'id'
  | 'task_stage_id'
  | 'stage'
  | 'task_name'
  | 'task_url'
  | 'workspace_task_id'
  | 'agent_pool_id'
  | 'enforcement_level'
> & { task_id: string }

export async function insertResults(db: Db, runId: string, { rows, now }: { rows: readonly NewResult[]; now: Date }) {
  if (rows.length === 0) return
  const times = { status_timestamps: { pending: now.toISOString() }, created_at: now, updated_at: now }
  const results = rows.map((row) => ({ ...row, run_id: runId, ...times }))
  await insertRows(db, 'task_results', results).execute()
}

/** The results of a stage that is about to start, with the current settings of their tasks. */
export async function listResultsToStart(tx: Tx, stageId: string) {
  return tx
    .selectFrom('task_results as r')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .leftJoin('tasks as t', 't.id', 'r.task_id')
    .leftJoin('workspace_tasks as a', (join) =>
      join.onRef('a.task_id', '=', 't.id').onRef('a.workspace_id', '=', 'runs.workspace_id'),
    )
    .select(['r.id', 'r.stage', 'r.run_id', 'r.task_name', 't.id as task_id', 't.enabled', 't.global_enabled'])
    .select(['t.global_stages', 'a.id as workspace_task_id', 'a.stages', 'runs.workspace_id'])
    .where('r.task_stage_id', '=', stageId)
    .where('r.status', '=', sql.lit('pending' as const))
    .execute()
}

export type Start = { id: string; tokenId: string; hash: Buffer; sealed: Buffer }

/** Stores the tokens of results and makes their requests due. */
export async function startResults(tx: Tx, starts: readonly Start[], { now, deadline }: { now: Date; deadline: Date }) {
  const column = <K extends keyof Start>(name: K) => starts.map((start) => start[name])
  await sql`with started as (
      update task_results r
         set status = 'running', status_timestamps = r.status_timestamps || ${stamp('running', now)},
             access_token = x.sealed, started_at = ${now}, deadline_at = ${deadline}, delivery_due_at = ${now},
             updated_at = ${now}
        from unnest(${column('id')}::text[], ${column('tokenId')}::text[], ${column('hash')}::bytea[],
                    ${column('sealed')}::bytea[]) as x(id, token_id, hash, sealed)
       where r.id = x.id
      returning r.id, r.run_id, x.token_id, x.hash)
    insert into tokens (id, kind, hash, run_id, task_result_id, created_at)
    select token_id, 'task', hash, run_id, id, ${now} from started`.execute(tx)
}

/** Cancels the results of skipped tasks as advisory, so that they do not affect the stage. */
export async function skipResults(tx: Tx, skips: readonly { id: string; message: string }[], now: Date) {
  await sql`update task_results r
       set status = 'canceled', enforcement_level = 'advisory', message = x.message, updated_at = ${now},
           status_timestamps = r.status_timestamps || ${stamp('canceled', now)}
      from unnest(${skips.map(({ id }) => id)}::text[], ${skips.map(({ message }) => message)}::text[]) as x(id, message)
     where r.id = x.id`.execute(tx)
}

type Report = { message?: string | null; url?: string | null; now: Date }

type Ending = Report & { status: 'passed' | 'failed' }

/** Ends an open result and deletes its token. `open`: other open results of its stage, reliable under the lock on the run's workspace. */
export async function endResult(tx: Tx, id: string, { status, message, url, now }: Ending) {
  const { rows } = await sql<{ task_stage_id: string; run_id: string; open: number }>`with ended as (
      update task_results
         set status = ${status}, message = coalesce(${message ?? null}, message), url = coalesce(${url ?? null}, url),
             status_timestamps = status_timestamps || ${stamp(status, now)}, access_token = null, delivery_due_at = null,
             called_back_at = ${now}, updated_at = ${now}
       where id = ${id} and status = 'running'
      returning id, task_stage_id, run_id),
    dead as (delete from tokens where task_result_id = ${id})
    select task_stage_id, run_id,
           (select count(*) from task_results r
             where r.task_stage_id = ended.task_stage_id and r.id <> ended.id and r.status in ('pending', 'running')) as open
      from ended`.execute(tx)
  return rows[0]
}

/** Ends open results as errored and deletes their tokens; returns the stages without open results. */
export async function endErrored(tx: Tx, ends: readonly { id: string; message: string }[], now: Date) {
  const { rows } = await sql<{ task_stage_id: string }>`with ended as (
      update task_results r
         set status = 'errored', message = x.message, access_token = null, delivery_due_at = null, updated_at = ${now},
             status_timestamps = r.status_timestamps || ${stamp('errored', now)}
        from unnest(${ends.map(({ id }) => id)}::text[], ${ends.map(({ message }) => message)}::text[]) as x(id, message)
       where r.id = x.id and r.status = 'running'
      returning r.id, r.task_stage_id),
    dead as (delete from tokens where task_result_id in (select id from ended))
    select distinct task_stage_id from ended
     where not exists (select from task_results r where r.task_stage_id = ended.task_stage_id
                        and r.status in ('pending', 'running') and r.id not in (select id from ended))`.execute(tx)
  return rows.map((row) => row.task_stage_id)
}

/** The next callback is due within `timeoutMs` from now, and the last one within `maxMs` from the start. */
type Progress = Report & { timeoutMs: number; maxMs: number }

/** Records a `running` callback, which acknowledges the request. Undefined if the result has ended. */
export async function recordProgress(tx: Tx, id: string, { message, url, now, timeoutMs, maxMs }: Progress) {
  const { rows } = await sql<{ id: string }>`update task_results
       set message = coalesce(${message ?? null}, message), url = coalesce(${url ?? null}, url), called_back_at = ${now},
           delivery_due_at = null, updated_at = ${now},
           deadline_at = least(${new Date(now.getTime() + timeoutMs)}, started_at + ${`${maxMs} ms`}::interval)
     where id = ${id} and status = 'running'
    returning id`.execute(tx)
  return rows[0]
}

/** Ends running results as canceled with the message and pending ones as unreachable, and deletes their tokens. */
export async function cancelResults(tx: Tx, runId: string, { message, now }: { message: string; now: Date }) {
  await sql`with ended as (
      update task_results
         set status = case status when 'running' then 'canceled' else 'unreachable' end, access_token = null,
             message = case status when 'running' then ${message} else message end,
             status_timestamps = status_timestamps
               || case status when 'running' then ${stamp('canceled', now)} else ${stamp('unreachable', now)} end,
             delivery_due_at = null, updated_at = ${now}
       where run_id = ${runId} and status in ('pending', 'running')
      returning id)
    delete from tokens where task_result_id in (select id from ended)`.execute(tx)
}

/** Locks the row that every change of a run locks. */
export async function lockWorkspaceOfRun(tx: Tx, runId: string) {
  await sql`select from workspaces where id = (select workspace_id from runs where id = ${runId})
     for no key update`.execute(tx)
}

export async function findStatus(db: Db, id: string) {
  return db
    .selectFrom('task_results as r')
    .leftJoin('tasks as t', 't.id', 'r.task_id')
    .select(['r.status', sql<boolean>`t.id is not null`.as('has_task')])
    .where('r.id', '=', id)
    .executeTakeFirst()
}

export type OverdueResult = Awaited<ReturnType<typeof listOverdue>>[number]

/** Open results whose deadline has passed, oldest first. */
export async function listOverdue(db: Db, now: Date, limit: number) {
  return db
    .selectFrom('task_results')
    .select(['id', 'run_id', 'started_at', 'deadline_at', 'delivered_at', 'called_back_at', 'attempts'])
    .where('status', '=', sql.lit('running' as const))
    .where('deadline_at', '<=', now)
    .orderBy('deadline_at')
    .limit(limit)
    .execute()
}

/** SQL expression: earliest deadline of an open result. */
export const FIRST_DEADLINE = sql<Date | null>`(select deadline_at from task_results
    where status = 'running' order by deadline_at limit 1)`

/** A JSON object with one status and its time, as SQL. */
function stamp(status: TaskResultStatus, now: Date) {
  return sql`${JSON.stringify({ [status]: now.toISOString() })}::jsonb`
}

/** Selects run, workspace and organization of results: those with `ids`, or all of a run. */
export function selectOwners(db: Db, which: { ids: readonly string[] } | { runId: string }) {
  return db
    .selectFrom('task_results as r')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .select(['r.id', 'r.run_id', 'runs.workspace_id', 'runs.organization_id'])
    .where('ids' in which ? sql<boolean>`r.id = any(${which.ids})` : sql<boolean>`r.run_id = ${which.runId}`)
}
