import type { FinishJob } from '@groundstate/contract/agent'
import {
  type InferResult,
  type Insertable,
  type OperationNodeSource,
  type RawBuilder,
  type Selectable,
  type Updateable,
  sql,
} from 'kysely'
import type { Config } from '../../../config.ts'
import type { Db, Tx } from '../../../db/db.ts'
import { lookup } from '../../../db/lookup.ts'
import { deferWrite, pipeline } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type RunRow, lockedRunOf, runLock } from '../runs/locked-run-store.ts'
import type { EngineHolder } from './engine-choice.ts'

export type ClaimingAgent = Pick<
  Selectable<Schema['agents']>,
  'id' | 'name' | 'agent_pool_id' | 'engines' | 'downloads_engines'
>

/** The engines in the row of an agent. */
export function holderOf(agent: Pick<ClaimingAgent, 'engines' | 'downloads_engines'>): EngineHolder {
  return { engines: agent.engines as EngineHolder['engines'], downloads: agent.downloads_engines }
}

/** The job of a request. */
export type Job = NonNullable<Awaited<ReturnType<typeof findJob>>>
export type JobKey = Pick<Job, 'id' | 'run_id' | 'workspace_id'>

/** Finds a job by the hash of its token in hex: one query authenticates and loads. */
export const findJob = lookup(['id', 'hash'], (db, { id, hash }) =>
  db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .leftJoin('phases as plan', (join) => join.onRef('plan.run_id', '=', 'r.id').on('plan.kind', '=', 'plan'))
    .select(['j.id', 'j.kind', 'j.status', 'j.command', 'j.phase_id', 'j.run_id', 'j.agent_id', 'j.lease_expires_at'])
    .select(['j.token_hash', 'j.lease_ms', 'j.lost_at', 'j.late_result_at'])
    .select(['r.organization_id', 'r.workspace_id', 'r.configuration_version_id'])
    .select(['r.engine_organization_name', 'r.engine_workspace_name'])
    .select(['plan.job_id as plan_job_id', 'plan.documents_owed_at'])
    .where('j.id', '=', id)
    .where('j.token_hash', '=', sql<Buffer>`decode(${hash}, 'hex')`),
)

type Lease = {
  jobId: string
  agent: ClaimingAgent
  tokenHash: Buffer
  now: Date
  leaseMs: number
  /** Whether the agent acknowledges the job before it begins. */
  hasReceipt: boolean
  /** The phase whose log the job continues. */
  phaseId: string
}

/** The statement that leases a job to an agent, for `writeTogether`. */
export function leaseUpdate(tx: Tx, lease: Lease): OperationNodeSource {
  const firstMs = lease.hasReceipt ? firstLease(lease.leaseMs) : lease.leaseMs
  const expiresAt = new Date(lease.now.getTime() + firstMs)
  return tx
    .updateTable('agent_jobs')
    .set({
      status: 'running',
      agent_id: lease.agent.id,
      executed_by: lease.agent.id,
      agent_name: lease.agent.name,
      token_hash: lease.tokenHash,
      leased_at: lease.now,
      lease_ms: lease.leaseMs,
      lease_expires_at: expiresAt,
      receipt_due_at: lease.hasReceipt ? expiresAt : null,
      log_base: sql<number>`coalesce((select start_offset + octet_length(data) from log_chunks
            where phase_id = ${lease.phaseId} order by start_offset desc limit 1), 0)`,
    })
    .where('id', '=', lease.jobId)
}

/** The statement that inserts the token of a job, for `writeTogether`. */
export function tokenInsert(tx: Tx, row: Insertable<Schema['tokens']>): OperationNodeSource {
  return tx.insertInto('tokens').values(row)
}

export type LockedLease = InferResult<ReturnType<typeof leaseLock>>[number]

/**
 * Locks the workspace of a job's run, reads the run, and locks the lease of the job: no heartbeat renews it until the end of the
 * transaction. Statements `along` with that are executed after it, and their rows returned.
 */
export async function lockRunOfJob<Row>(
  tx: Tx,
  job: Pick<JobKey, 'id' | 'run_id' | 'workspace_id'>,
  along: readonly RawBuilder<Row>[] = [],
) {
  const [workspaces, runs, [lease], ...responses] = await pipeline(tx, [
    ...runLock(tx, { id: job.run_id, workspaceId: job.workspace_id }),
    leaseLock(tx, job.id),
    ...along,
  ])
  return { locked: lockedRunOf(workspaces, runs), lease, responses }
}

function leaseLock(tx: Tx, jobId: string) {
  return tx
    .selectFrom('agent_jobs')
    .select(['kind', 'attempt', 'phase_id', 'agent_id', 'agent_name', 'lease_expires_at', 'receipt_due_at'])
    .where('id', '=', jobId)
    .forNoKeyUpdate()
}

/** Whether the job is still running, and has its lease renewed. */
export async function renewLease(db: Db, jobId: string, expiresAt: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('agent_jobs')
    .set({ lease_expires_at: expiresAt, receipt_due_at: null })
    .where('id', '=', jobId)
    .where('status', '=', 'running')
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Renews the lease of the running job with this token; returns the command to its agent, and undefined when there is no such job. */
export async function renewLeaseOf(db: Db, { id, hash }: { id: string; hash: Buffer }, now: Date) {
  const row = await db
    .updateTable('agent_jobs')
    .set({ lease_expires_at: sql<Date>`${now}::timestamptz + lease_ms * interval '1 ms'`, receipt_due_at: null })
    .where('id', '=', id)
    .where('token_hash', '=', hash)
    .where('status', '=', sql.lit('running' as const))
    .returning('command')
    .executeTakeFirst()
  return row?.command
}

/** How often a phase was queued again since its agent had not said that it received the job. */
export async function countUnacknowledged(tx: Tx, phaseId: string): Promise<number> {
  const { count } = await tx
    .selectFrom('agent_jobs')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('phase_id', '=', phaseId)
    .where('status', '=', 'ended')
    .where('receipt_due_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return count
}

/** Keeps a job that is handed back from counting as one that did not reach its agent. Written with the next statement. */
export async function excuseAck(tx: Tx, jobId: string) {
  await deferWrite(tx, tx.updateTable('agent_jobs').set({ receipt_due_at: null }).where('id', '=', jobId))
}

/** SQL of whether there are running jobs whose lease has expired. */
export function hasExpiredJobs(now: Date) {
  return sql<boolean>`exists (select from agent_jobs where status = 'running' and lease_expires_at < ${now}::timestamptz)`
}

/** Running jobs whose lease has expired, the oldest first. */
export async function listExpiredJobs(db: Db, now: Date): Promise<JobKey[]> {
  return db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .select(['j.id', 'j.run_id', 'r.workspace_id'])
    .where('j.status', '=', 'running')
    .where('j.lease_expires_at', '<', now)
    .orderBy('j.lease_expires_at')
    .limit(100)
    .execute()
}

export type JobPlace = { workspaceId: string } | { organizationId: string }

/** Locks the jobs of a place whose agents may still send output, before anything of their logs is deleted. */
export async function lockOpenJobs(tx: Tx, place: JobPlace) {
  return tx
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .select('j.id')
    .where((eb) =>
      'workspaceId' in place
        ? eb('r.workspace_id', '=', place.workspaceId)
        : eb('r.organization_id', '=', place.organizationId),
    )
    .where((eb) =>
      eb.or([
        eb('j.status', '=', 'running'),
        eb.and([eb('j.lost_at', 'is not', null), eb('j.late_result_at', 'is', null)]),
      ]),
    )
    .orderBy('j.id')
    .forUpdate('j')
    .execute()
}

/**
 * Marks a job as lost, in the transaction that ends it. `noticeBytes` is the size of what the server itself has appended to its
 * log: what the agent sends later goes behind that, at the offsets that the agent knows.
 */
export async function markLost(tx: Tx, jobId: string, { now, noticeBytes }: { now: Date; noticeBytes: number }) {
  await tx
    .updateTable('agent_jobs')
    .set((eb) => ({ lost_at: now, log_base: eb('log_base', '+', noticeBytes) }))
    .where('id', '=', jobId)
    .execute()
}

/** Locks an apply that was lost later than `since` and of which no result has come. The caller holds the lock of its run. */
export async function lockLostApply(tx: Tx, jobId: string, since: Date) {
  return tx
    .selectFrom('agent_jobs')
    .select(['agent_name'])
    .where('id', '=', jobId)
    .where('kind', '=', 'apply')
    .where('lost_at', '>', since)
    .where('late_result_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function markLateResult(tx: Tx, jobId: string, now: Date) {
  await tx.updateTable('agent_jobs').set({ late_result_at: now }).where('id', '=', jobId).execute()
}

/** Records that the documents which the plan of a job has owed are there, or why not; with what they have counted. */
export async function updateOwedDocuments(
  db: Db,
  job: Pick<Job, 'id' | 'phase_id'>,
  documents: Updateable<Schema['phases']>,
) {
  await db
    .updateTable('phases')
    .set({ ...documents, documents_owed_at: null })
    .where('id', '=', job.phase_id)
    .where('job_id', '=', job.id)
    .execute()
}

/**
 * A lease expires when no heartbeat has arrived for this long, in ms. A plan can be made again elsewhere, so it is soon given
 * up. An apply can't, so that it outlasts a longer cut.
 */
export function leaseLength({ lease }: Pick<Config, 'lease'>, kind: 'plan' | 'apply') {
  return kind === 'plan' ? lease : 4 * lease
}

/** An agent that has received a job says so at once. It gets this long, in ms. */
export const RECEIPT_MS = 5000

/**
 * The lease, in ms, of a job whose agent begins nothing before the server has its first heartbeat: it is short, so that an
 * answer which was lost on its way to the agent does not hold up the job for longer. That heartbeat makes it whole.
 */
export function firstLease(leaseMs: number) {
  return Math.min(RECEIPT_MS, leaseMs / 2)
}

/** Whether the agent of a running job has not acknowledged it, and so has begun nothing. */
export function isUnacknowledged(job: { receipt_due_at: Date | null; lease_expires_at: Date | null }) {
  const { receipt_due_at: dueAt, lease_expires_at: expiresAt } = job
  return dueAt !== null && expiresAt !== null && expiresAt <= dueAt
}

/** Whether no one is asked, and nothing looks at the plan, before it is applied: the JSON of such a plan may follow its outcome. */
export function appliesByItself(run: RunRow) {
  return run.auto_apply && !run.plan_only && !run.save_plan && !run.stages.some((stage) => STAGES_BETWEEN.has(stage))
}

/** The columns of a phase with what an agent has counted. */
export function countColumns({ counts }: Pick<FinishJob, 'counts'>) {
  if (!counts) return {}
  return {
    resource_additions: counts.additions,
    resource_changes: counts.changes,
    resource_destructions: counts.destructions,
    resource_imports: counts.imports,
  }
}

/** Stages that come between a plan and its apply, with tasks that read the plan. */
export const STAGES_BETWEEN: ReadonlySet<string> = new Set(['post_plan', 'pre_apply'])
