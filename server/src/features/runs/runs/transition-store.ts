import { FAILURE_STATUSES, KPI_STATUSES } from '@groundstate/contract/run-status'
import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import type { Db, Tx } from '../../../db/db.ts'
import { deferWrite, writeBatch } from '../../../db/pipeline.ts'
import { literals } from '../../../db/sql.ts'
import type { LockedJob, LockedRun, LockedWorkspace } from './locked-run-store.ts'
import { unblockedPools, queuedJobInsert } from './queued-job-store.ts'
import type { CurrentRunColumns, EndedRun, Transition } from './transition.ts'

/**
 * Writes a transition, and `others` with it, along with the next statement of the transaction. Where a job ends, returns a function that
 * reads the topics of the pools that it may have unblocked, once that statement has been executed.
 */
export async function saveTransition(
  tx: Tx,
  { run, job, plan, apply }: LockedRun,
  { transition, others, now }: { transition: Transition; others: readonly OperationNodeSource[]; now: Date },
) {
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
    ...(job && effects.endsJob ? jobEnd(tx, { jobId: job.id, runId: run.id }, { transition, now }) : []),
  ].filter((write) => write !== undefined)

  // A run has at most one unfinished job: where a new one replaces it, its end must be written first.
  const replaces = job && effects.endsJob && transition.job
  const start = transition.job && queuedJobInsert(transition.job)
  if (start && !replaces) writes.push(start)
  const freed = job && effects.endsJob ? unblockedPools(run) : undefined
  const readFreed = await writeBatch(tx, writes, freed)
  if (start && replaces) await deferWrite(tx, start)
  return freed && (async () => (await readFreed()).map(({ topic }) => topic))
}

/** Statements that end a job and revoke its engine token, unless that is still needed for the plan's JSON: then it is revoked with the apply. */
function jobEnd(
  tx: Tx,
  { jobId, runId }: { jobId: string; runId: string },
  { transition: { status, plan }, now }: { transition: Transition; now: Date },
) {
  const changes = { status: 'ended', ended_at: now, lease_expires_at: null } as const
  const isOwing = plan?.documents_owed_at instanceof Date
  return [
    tx
      .updateTable('agent_jobs')
      .set(status === 'force_canceled' ? { ...changes, command: 'force-cancel' } : changes)
      .where('id', '=', jobId),
    ...(isOwing
      ? []
      : [
          tx
            .deleteFrom('tokens')
            .where('kind', '=', sql.lit('run' as const))
            .where('run_id', '=', runId),
        ]),
  ]
}

function workspaceUpdate(tx: Tx, run: LockedRun['run'], { workspace, ended }: Transition) {
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

/** KPIs of the workspace's last applied or failed runs, including one whose end is being written. */
function kpisWith({ id, workspace_id }: LockedRun['run'], { number, isFailure, planMs, applyMs }: EndedRun) {
  const phaseMs = (kind: 'plan' | 'apply') => sql`(
    select extract(epoch from p.ended_at - (p.status_timestamps->>'running')::timestamptz) * 1000
      from phases p where p.run_id = r.id and p.kind = ${sql.lit(kind)})`
  // A machine may sleep for longer than an integer has milliseconds.
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

/** The first run in the queue of a workspace. */
export async function findFirstInQueue(tx: Tx, workspaceId: string) {
  return tx
    .selectFrom('runs')
    .select(['id', 'status', 'created_at'])
    .where('workspace_id', '=', workspaceId)
    .where('waits', '=', sql.lit(true))
    .orderBy('queue_order')
    .limit(sql.lit(1))
    .executeTakeFirst()
}

export async function updateCurrentRun(tx: Tx, id: LockedWorkspace['id'], columns: CurrentRunColumns) {
  await tx.updateTable('workspaces').set(columns).where('id', '=', id).execute()
}

export async function updateJobCommand(tx: Tx, jobId: string, command: LockedJob['command']) {
  await tx.updateTable('agent_jobs').set({ command }).where('id', '=', jobId).execute()
}

/** The ids of the runs of the workspace that occupy it or are queued before `run`, the occupying one last. */
export async function listRunsBefore(tx: Tx, run: Pick<LockedRun['run'], 'id' | 'workspace_id' | 'queue_order'>) {
  const rows = await tx
    .selectFrom('runs')
    .select('id')
    .where('workspace_id', '=', run.workspace_id)
    .where((eb) =>
      eb.or([eb('occupies', '=', true), eb.and([eb('waits', '=', true), eb('queue_order', '<', run.queue_order)])]),
    )
    .where('id', '<>', run.id)
    .orderBy('occupies')
    .orderBy('queue_order')
    .execute()
  return rows.map(({ id }) => id)
}

/** Workspace and organization of a run. */
export function selectPlaces(db: Db, ids: readonly string[]) {
  return db
    .selectFrom('runs')
    .select(['id', 'workspace_id', 'organization_id'])
    .where(sql<boolean>`id = any(${ids})`)
}
