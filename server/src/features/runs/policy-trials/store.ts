import type { PolicyTrialRunStatus } from '@groundstate/contract/policy-trials'
import { type Insertable, type Selectable, type Updateable, sql } from 'kysely'
import { type Db, type Page, type Tx } from '../../../db/db.ts'
import { readPaged } from '../../../db/paged.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type NewRow, insertRows } from '../../../db/sql.ts'

export type RunCounts = Record<'total' | PolicyTrialRunStatus, number>
export type TrialRow = Selectable<Schema['policy_trials']> & {
  organization_name: string
  policy_set_name: string | null
  counts: RunCounts
}

function selectTrials(db: Db) {
  return db
    .selectFrom('policy_trials as t')
    .innerJoin('organizations as o', 'o.id', 't.organization_id')
    .leftJoin('policy_sets as s', 's.id', 't.policy_set_id')
    .selectAll('t')
    .select(['o.name as organization_name', 's.name as policy_set_name'])
    .select(
      sql<RunCounts>`(select jsonb_build_object('total', count(*),
          'pending', count(*) filter (where r.status = 'pending'), 'passed', count(*) filter (where r.status = 'passed'),
          'warned', count(*) filter (where r.status = 'warned'), 'stopped', count(*) filter (where r.status = 'stopped'),
          'errored', count(*) filter (where r.status = 'errored'))
        from policy_trial_runs r where r.policy_trial_id = t.id)`.as('counts'),
    )
}

export async function findTrial(db: Db, id: string): Promise<TrialRow | undefined> {
  return selectTrials(db).where('t.id', '=', id).executeTakeFirst()
}

/** The trials of a set, the latest first. */
export async function listTrials(db: Db, setId: string, page: Page) {
  const all = db.selectFrom('policy_trials as t').where('t.policy_set_id', '=', setId)
  return readPaged(page, selectTrials(db).where('t.policy_set_id', '=', setId).orderBy('t.seq', 'desc'), all)
}

export async function insertTrial(tx: Tx, row: Insertable<Schema['policy_trials']>) {
  await tx.insertInto('policy_trials').values(row).execute()
}

export async function insertTrialRuns(tx: Tx, rows: readonly NewRow<'policy_trial_runs'>[]) {
  if (rows.length > 0) await insertRows(tx, 'policy_trial_runs', rows).execute()
}

type Change = {
  from: readonly TrialRow['status'][]
  to: TrialRow['status']
  now: Date
  changes?: Updateable<Schema['policy_trials']>
}

/** False if the trial has another status than `from`. */
export async function updateStatus(db: Db, id: string, { from, to, now, changes = {} }: Change) {
  const row = await db
    .updateTable('policy_trials')
    .set({ ...changes, status: to, updated_at: now })
    .where('id', '=', id)
    .where(sql<boolean>`status = any(${from})`)
    .returning('id')
    .executeTakeFirst()
  return row !== undefined
}

function selectRunning(db: Db, id: string) {
  return db
    .selectFrom('policy_trials')
    .select(['id', 'organization_id'])
    .where('id', '=', id)
    .where('status', '=', 'running')
}

/** A running trial. */
export async function findRunning(db: Db, id: string) {
  return selectRunning(db, id).select('rules').executeTakeFirst()
}

/** Locks a trial, if it is running, against the other results of its runs. */
export async function lockRunning(tx: Tx, id: string) {
  return selectRunning(tx, id).forNoKeyUpdate().executeTakeFirst()
}

const isRequested = sql<boolean>`exists (select from policy_requests q where q.policy_trial_run_id = r.id)`

/** The next runs of a trial that no request evaluates yet, with the pools of their agents; null for a deleted one. */
export async function listWaiting(db: Db, trialId: string, limit: number) {
  return db
    .selectFrom('policy_trial_runs as r')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .leftJoin('agent_pools as p', 'p.id', 'runs.agent_pool_id')
    .select(['r.id', 'r.run_id', 'p.id as agent_pool_id'])
    .where('r.policy_trial_id', '=', trialId)
    .where('r.status', '=', 'pending')
    .where(sql<boolean>`not ${isRequested}`)
    .orderBy('r.position')
    .limit(limit)
    .execute()
}

/** The unfinished runs of a trial, and those of them that a request evaluates. */
export async function countPending(db: Db, trialId: string) {
  const { rows } = await sql<{ pending: number; requested: number }>`
    select count(*) as pending, count(*) filter (where ${isRequested}) as requested
      from policy_trial_runs r where r.policy_trial_id = ${trialId} and r.status = 'pending'`.execute(db)
  return rows[0] ?? { pending: 0, requested: 0 }
}

export async function lockTrialRun(tx: Tx, id: string) {
  await sql`select from policy_trial_runs where id = ${id} for no key update`.execute(tx)
}

export type TrialRunEnd = Omit<Updateable<Schema['policy_trial_runs']>, 'outcomes'> & {
  status: PolicyTrialRunStatus
  outcomes?: readonly object[]
}

/** Ends a run of a trial, unless it has ended. */
export async function endTrialRun(tx: Tx, id: string, { outcomes = [], ...end }: TrialRunEnd) {
  await tx
    .updateTable('policy_trial_runs')
    .set({ ...end, outcomes: JSON.stringify(outcomes) })
    .where('id', '=', id)
    .where('status', '=', 'pending')
    .execute()
}

/** Ends the unfinished runs of a pool. */
export async function failPool(tx: Tx, trialId: string, { poolId, error }: { poolId: string; error: string }) {
  await sql`update policy_trial_runs r set status = 'errored', error = ${error}
     from runs where runs.id = r.run_id and runs.agent_pool_id = ${poolId}
      and r.policy_trial_id = ${trialId} and r.status = 'pending'`.execute(tx)
}

export async function touchTrial(tx: Tx, id: string, now: Date) {
  await tx.updateTable('policy_trials').set({ updated_at: now }).where('id', '=', id).execute()
}

/** The run of a trial with its trial. */
export async function findTrialRun(db: Db, id: string) {
  return db
    .selectFrom('policy_trial_runs as r')
    .innerJoin('runs', 'runs.id', 'r.run_id')
    .select(['r.id', 'r.policy_trial_id', 'runs.plan_only'])
    .where('r.id', '=', id)
    .executeTakeFirst()
}

/** Running trials without a result since a time: of deleted runs or pools, or whose job is gone. */
export async function listStalled(db: Db, before: Date) {
  return db
    .selectFrom('policy_trials')
    .select('id')
    .where('status', '=', sql.lit('running' as const))
    .where('updated_at', '<', before)
    .orderBy('updated_at')
    .limit(1000)
    .execute()
}

/** Ends trials whose archive was never uploaded. */
export async function failAbandoned(db: Db, { before, now, message }: { before: Date; now: Date; message: string }) {
  await sql`update policy_trials set status = 'errored', error_message = ${message}, updated_at = ${now}
    where status = 'pending' and updated_at < ${before}`.execute(db)
}

/** Deletes trials that are older than `before`; returns their number and the keys of their archives. */
export async function deleteTrials(db: Db, { before, limit }: { before: Date; limit: number }) {
  const { rows } = await sql<{ blob_key: string | null }>`delete from policy_trials where id in (
      select id from policy_trials where created_at < ${before} order by created_at, id limit ${limit})
    returning blob_key`.execute(db)
  return { deleted: rows.length, keys: rows.flatMap((row) => row.blob_key ?? []) }
}

/** Those of the keys that trials name. */
export async function findNamedKeys(db: Db, keys: readonly string[]) {
  const { rows } = await sql<{ blob_key: string }>`
    select blob_key from policy_trials where blob_key = any(${keys})`.execute(db)
  return new Set(rows.map((row) => row.blob_key))
}
