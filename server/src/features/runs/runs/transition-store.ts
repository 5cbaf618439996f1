import { FAILURE_STATUSES, KPI_STATUSES } from '@groundstate/contract/run-status'
import { type Insertable, type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import { type AuditRow, eventInsert } from '../../../audit/store.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { deferWrite, pipeline, writeBatch } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { literals } from '../../../db/sql.ts'
import { selectVersionForRun } from '../configuration-versions/store.ts'
import { type LockedJob, type LockedRun, type RunRow, runWorkspaceLock } from './locked-run-store.ts'
import { wordsOf } from './message-store.ts'
import { queuedJobInsert, unblockedPools } from './queued-job-store.ts'
import { runEventsInsert } from './run-event-store.ts'
import type { EndedRun, Transition, currentRunColumns } from './transition.ts'

/** Locks the workspace of a new run and reads its configuration version, by default the current one. */
export async function lockForNewRun(tx: Tx, workspaceId: string, versionId: string | undefined) {
  const [[workspace], [version]] = await pipeline(tx, [
    runWorkspaceLock(tx, workspaceId),
    selectVersionForRun(tx, { id: versionId, workspaceId }),
  ])
  return { workspace, version }
}

type NewRunRows = { transition: Transition; event: Insertable<Schema['run_events']>; audit: AuditRow }

/** Writes a new run after its first transition, with its related rows, along with the next statement. */
export async function insertNewRun(tx: Tx, locked: LockedRun, { transition, event, audit }: NewRunRows) {
  // The database assigns `seq` and `queue_order`.
  const { seq: _, queue_order: __, variables, ...columns } = locked.run
  const phases = [locked.plan, locked.apply].map(({ id, kind, status, status_timestamps }) => ({
    id,
    kind,
    run_id: columns.id,
    status,
    status_timestamps: JSON.stringify(status_timestamps),
    ...transition[kind],
  }))
  const run = tx.insertInto('runs').values({
    ...columns,
    status_timestamps: JSON.stringify(columns.status_timestamps),
    variables: JSON.stringify(variables),
    ...transition.run,
  })
  const writes = [
    {
      name: 'new_run',
      write: run.returning(['id', 'workspace_id', 'organization_id', 'seq', 'message', 'created_at']),
    },
    sql`insert into run_keys (run_id, workspace_id, organization_id, seq, words, created_at)
      select id, workspace_id, organization_id, seq, ${wordsOf(sql`message`)}, created_at from new_run`,
    ...phases.map((row) => tx.insertInto('phases').values(row)),
    runEventsInsert(tx, [event]),
    eventInsert(audit),
    tx
      .updateTable('workspaces')
      .set({ ...transition.workspace, run_count: columns.number, latest_run_id: columns.id })
      .where('id', '=', columns.workspace_id),
    ...(transition.job ? [queuedJobInsert(transition.job)] : []),
  ]
  await writeBatch(tx, writes)
}

type Saving = { transition: Transition; others: readonly OperationNodeSource[]; now: Date }

/** Writes with the next statement. If a job ends, returns a function that then reads the topics of pools that this may have unblocked. */
export async function saveTransition(tx: Tx, locked: LockedRun, { transition, others, now }: Saving) {
  const { run, job, plan, apply } = locked
  const { effects } = transition
  const writes = [
    tx
      .updateTable('runs')
      .set(transition.run)
      .$if(transition.entersQueue, (update) => update.set({ queue_order: sql<number>`nextval('run_order')` }))
      .where('id', '=', run.id),
    ...others,
    transition.plan && tx.updateTable('phases').set(transition.plan).where('id', '=', plan.id),
    transition.apply && tx.updateTable('phases').set(transition.apply).where('id', '=', apply.id),
    workspaceUpdate(tx, run, transition),
    ...(job && effects.endsJob ? jobEnd(tx, transition, { jobId: job.id, runId: run.id, now }) : []),
  ].filter((write) => write !== undefined)

  // A run has at most one unfinished job: the end of a replaced one must be written first.
  const replaces = job && effects.endsJob && transition.job
  const start = transition.job && queuedJobInsert(transition.job)
  if (start && !replaces) writes.push(start)
  const freed = job && effects.endsJob ? unblockedPools(run) : undefined
  const readFreed = await writeBatch(tx, writes, freed)
  if (start && replaces) await deferWrite(tx, start)
  return freed && (async () => (await readFreed()).map(({ topic }) => topic))
}

type JobEnd = { jobId: string; runId: string; now: Date }

/** Statements that end a job and revoke its engine token; pending documents of a plan still need that until the apply ends. */
function jobEnd(tx: Tx, { status, plan }: Transition, { jobId, runId, now }: JobEnd): OperationNodeSource[] {
  const changes = { status: 'ended', ended_at: now, lease_expires_at: null } as const
  const end = tx
    .updateTable('agent_jobs')
    .set(status === 'force_canceled' ? { ...changes, command: 'force-cancel' } : changes)
    .where('id', '=', jobId)
  if (plan?.documents_pending_since instanceof Date) return [end]
  const isRunToken = sql<boolean>`kind = 'run'`
  return [end, tx.deleteFrom('tokens').where(isRunToken).where('run_id', '=', runId)]
}

function workspaceUpdate(tx: Tx, run: RunRow, { workspace, ended }: Transition) {
  if (ended) {
    return tx
      .updateTable('workspaces')
      .from(kpisWith(run, ended).as('kpis'))
      .set(workspace ?? {})
      .set((eb) => ({
        kpi_run_count: eb.ref('kpis.run_count'),
        kpi_failure_count: eb.ref('kpis.failure_count'),
        kpi_plan_duration: eb.ref('kpis.plan_ms'),
        kpi_apply_duration: eb.ref('kpis.apply_ms'),
      }))
      .where('id', '=', run.workspace_id)
  }
  return workspace && tx.updateTable('workspaces').set(workspace).where('id', '=', run.workspace_id)
}

const KPI_RUNS = 30

/** KPIs of the workspace's last applied or failed runs, including the one that is ending. */
function kpisWith({ id, workspace_id }: RunRow, { number, isFailure, planMs, applyMs }: EndedRun) {
  const phaseMs = (kind: 'plan' | 'apply') => sql`(
    select extract(epoch from p.ended_at - (p.status_timestamps->>'running')::timestamptz) * 1000
      from phases p where p.run_id = r.id and p.kind = ${sql.lit(kind)})`
  // A suspended machine can exceed an integer of milliseconds.
  const average = (ms: RawBuilder<unknown>) =>
    sql`case when avg(${ms}) > 2147483647 then 2147483647 else round(avg(${ms})) end::integer`
  return sql<{ run_count: number; failure_count: number; plan_ms: number | null; apply_ms: number | null }>`(
    select count(*)::integer as run_count, (count(*) filter (where is_failure))::integer as failure_count,
           ${average(sql`plan_ms`)} as plan_ms, ${average(sql`apply_ms`)} as apply_ms
      from (
        (select r.number, r.status in (${literals(FAILURE_STATUSES)}) as is_failure,
                ${phaseMs('plan')} as plan_ms, ${phaseMs('apply')} as apply_ms
           from runs r
          where r.workspace_id = ${workspace_id} and r.id <> ${id} and r.status in (${literals(KPI_STATUSES)})
          order by r.number desc limit ${sql.lit(KPI_RUNS)})
        union all
        select ${number}::integer, ${isFailure}::boolean, ${planMs}::numeric, ${applyMs}::numeric
        order by number desc limit ${sql.lit(KPI_RUNS)}) last)`
}

export async function findFirstInQueue(tx: Tx, workspaceId: string) {
  const { rows } = await sql<Pick<RunRow, 'id' | 'status' | 'created_at'>>`select id, status, created_at from runs
    where workspace_id = ${workspaceId} and waits order by queue_order limit 1`.execute(tx)
  return rows[0]
}

export async function updateCurrentRun(tx: Tx, id: string, columns: ReturnType<typeof currentRunColumns>) {
  await tx.updateTable('workspaces').set(columns).where('id', '=', id).execute()
}

export async function updateJobCommand(tx: Tx, jobId: string, command: LockedJob['command']) {
  await tx.updateTable('agent_jobs').set({ command }).where('id', '=', jobId).execute()
}

/** The ids of the runs queued before `run` in its workspace, followed by the active run. */
export async function listRunsBefore(tx: Tx, run: Pick<RunRow, 'id' | 'workspace_id' | 'queue_order'>) {
  const { rows } = await sql<{
    id: string
  }>`select id from runs where workspace_id = ${run.workspace_id} and id <> ${run.id}
    and (occupies or waits and queue_order < ${run.queue_order}) order by occupies, queue_order`.execute(tx)
  return rows.map(({ id }) => id)
}

export function selectPlaces(db: Db, ids: readonly string[]) {
  return db
    .selectFrom('runs')
    .select(['id', 'workspace_id', 'organization_id'])
    .where(sql<boolean>`id = any(${ids})`)
}
