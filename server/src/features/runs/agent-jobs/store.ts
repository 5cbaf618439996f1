import type { ResourceCounts } from '@groundstate/contract/agent'
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
import { pipeline } from '../../../db/pipeline.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import { type RunRow, lockedRunOf, runLock } from '../runs/locked-run-store.ts'
import type { AgentEngines } from './engine-choice.ts'

type AgentColumn = 'id' | 'name' | 'agent_pool_id' | 'engines' | 'downloads_engines'
export type ClaimingAgent = Pick<Selectable<Schema['agents']>, AgentColumn>

export function enginesOf(agent: Pick<ClaimingAgent, 'engines' | 'downloads_engines'>): AgentEngines {
  return { engines: agent.engines as AgentEngines['engines'], downloads: agent.downloads_engines }
}

export type Job = NonNullable<Awaited<ReturnType<typeof findJob>>>
export type JobKey = Pick<Job, 'id' | 'run_id' | 'workspace_id'>

/** Finds a job by its id and the hash of its token in hex: one query authenticates and loads. */
export const findJob = lookup(['id', 'hash'], (db, { id, hash }) =>
  db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .leftJoin('phases as plan', (join) => join.onRef('plan.run_id', '=', 'r.id').on('plan.kind', '=', 'plan'))
    .select(['j.id', 'j.kind', 'j.status', 'j.command', 'j.phase_id', 'j.run_id', 'j.agent_id', 'j.lease_expires_at'])
    .select(['j.token_hash', 'j.lease_ms', 'j.lost_at', 'j.late_result_at'])
    .select(['r.organization_id', 'r.workspace_id', 'r.configuration_version_id'])
    .select(['r.engine_organization_name', 'r.engine_workspace_name', 'r.withholds_secrets'])
    .select(['plan.job_id as plan_job_id', 'plan.documents_pending_since'])
    .where('j.id', '=', id)
    .where('j.token_hash', '=', sql<Buffer>`decode(${hash}, 'hex')`),
)

type Lease = {
  jobId: string
  agent: ClaimingAgent
  tokenHash: Buffer
  now: Date
  leaseMs: number
  /** Whether the agent acknowledges the job before it starts. */
  needsAck: boolean
  /** The phase whose log the job continues. */
  phaseId: string
}

/** An agent acknowledges a job immediately; a job without an acknowledgement is requeued after this time, in ms. */
const ACK_TIMEOUT_MS = 5000

/** Leases a job, for `writeBatch`. Until its acknowledgement the lease is short, in case the response is lost. */
export function leaseUpdate(tx: Tx, lease: Lease): OperationNodeSource {
  const firstMs = lease.needsAck ? Math.min(ACK_TIMEOUT_MS, lease.leaseMs / 2) : lease.leaseMs
  const expiresAt = new Date(lease.now.getTime() + firstMs)
  return updateJob(tx, lease.jobId).set({
    status: 'running',
    agent_id: lease.agent.id,
    executed_by: lease.agent.id,
    agent_name: lease.agent.name,
    token_hash: lease.tokenHash,
    leased_at: lease.now,
    lease_ms: lease.leaseMs,
    lease_expires_at: expiresAt,
    ack_due_at: lease.needsAck ? expiresAt : null,
    log_base: sql<number>`coalesce((select start_offset + octet_length(data) from log_chunks
            where phase_id = ${lease.phaseId} order by start_offset desc limit 1), 0)`,
  })
}

function updateJob(db: Db, id: string) {
  return db.updateTable('agent_jobs').where('id', '=', id)
}

export function tokenInsert(tx: Tx, row: Insertable<Schema['tokens']>): OperationNodeSource {
  return tx.insertInto('tokens').values(row)
}

export type LockedLease = InferResult<ReturnType<typeof leaseLock>>[number]

/** Locks a job's workspace and its lease against heartbeats, and reads its run; then executes the `statements`. */
export async function lockRunOfJob<Row>(tx: Tx, job: JobKey, statements: readonly RawBuilder<Row>[]) {
  const [workspaces, runs, [lease], ...responses] = await pipeline(tx, [
    ...runLock(tx, { id: job.run_id, workspaceId: job.workspace_id }),
    leaseLock(tx, job.id),
    ...statements,
  ])
  return { locked: lockedRunOf(workspaces, runs), lease, responses }
}

/** Whether an earlier run has used the registry: looking here is cheaper than the deletion of nothing after each plan. */
const usesRegistry = sql<boolean>`(exists (select from registry_module_uses u where u.workspace_id = agent_jobs.workspace_id)
  or exists (select from registry_provider_uses u where u.workspace_id = agent_jobs.workspace_id))`

function leaseLock(tx: Tx, jobId: string) {
  return tx
    .selectFrom('agent_jobs')
    .select(['kind', 'attempt', 'phase_id', 'agent_id', 'agent_name', 'lease_expires_at', 'ack_due_at'])
    .select(usesRegistry.as('uses_registry'))
    .where('id', '=', jobId)
    .forNoKeyUpdate()
}

/** Renews the lease of a running job; false if it is not running. */
export async function renewLease(db: Db, jobId: string, expiresAt: Date): Promise<boolean> {
  const renewal = updateJob(db, jobId).set({ lease_expires_at: expiresAt, ack_due_at: null })
  const { numUpdatedRows } = await renewal.where('status', '=', 'running').executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Renews the lease of the running job with the token; returns the command for its agent, or undefined without such a job. */
export async function renewLeaseOf(db: Db, { id, hash }: { id: string; hash: Buffer }, now: Date) {
  const row = await updateJob(db, id)
    .set({ lease_expires_at: sql<Date>`${now}::timestamptz + lease_ms * interval '1 ms'`, ack_due_at: null })
    .where('token_hash', '=', hash)
    .where('status', '=', sql.lit('running' as const))
    .returning('command')
    .executeTakeFirst()
  return row?.command
}

/** Counts the jobs of a phase whose lease was lost. */
export async function countLost(tx: Tx, phaseId: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from agent_jobs
    where phase_id = ${phaseId} and lost_at is not null and late_result_at is null`.execute(tx)
  return rows[0]?.count ?? 0
}

/** SQL condition that a running job's lease has expired. */
export function hasExpiredJobs(now: Date) {
  return sql<boolean>`exists (select from agent_jobs where status = 'running' and lease_expires_at < ${now}::timestamptz)`
}

/** Running jobs whose lease has expired, oldest first. */
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

export type JobScope = { workspaceId: string } | { organizationId: string }

/** Locks the jobs whose agents may still send output, before their logs are deleted. */
export async function lockOpenJobs(tx: Tx, scope: JobScope) {
  const inScope =
    'workspaceId' in scope
      ? sql<boolean>`r.workspace_id = ${scope.workspaceId}`
      : sql<boolean>`r.organization_id = ${scope.organizationId}`
  return tx
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .select('j.id')
    .where(inScope)
    .where(sql<boolean>`(j.status = 'running' or j.lost_at is not null and j.late_result_at is null)`)
    .orderBy('j.id')
    .forUpdate('j')
    .execute()
}

/** Marks a job as lost as it ends. Later output is stored after the server's notice of `noticeBytes`, at the offsets that the agent knows. */
export async function markLost(tx: Tx, jobId: string, { now, noticeBytes }: { now: Date; noticeBytes: number }) {
  const columns = { lost_at: now, log_base: sql<number>`log_base + ${noticeBytes}` }
  await updateJob(tx, jobId).set(columns).execute()
}

/** Locks an apply lost after `since` without a result. The caller has locked its run. */
export async function lockLostApply(tx: Tx, jobId: string, since: Date) {
  return tx
    .selectFrom('agent_jobs')
    .select('agent_name')
    .where('id', '=', jobId)
    .where('kind', '=', 'apply')
    .where('lost_at', '>', since)
    .where('late_result_at', 'is', null)
    .forNoKeyUpdate()
    .executeTakeFirst()
}

export async function markLateResult(tx: Tx, jobId: string, now: Date) {
  await updateJob(tx, jobId).set({ late_result_at: now }).execute()
}

/** Records that the pending documents of a plan were stored, with their counts, or why they were not. */
export async function updatePendingDocuments(db: Db, job: Job, documents: Updateable<Schema['phases']>) {
  await db
    .updateTable('phases')
    .set({ ...documents, documents_pending_since: null })
    .where('id', '=', job.phase_id)
    .where('job_id', '=', job.id)
    .execute()
}

/** Duration of a lease, in ms. A lost plan can be repeated elsewhere; an apply cannot, so its lease survives longer outages. */
export function leaseLength({ lease }: Pick<Config, 'lease'>, kind: 'plan' | 'apply') {
  return kind === 'plan' ? lease : 4 * lease
}

/** Whether the agent of a running job has not acknowledged it, and so has started nothing. */
export function isUnacknowledged(job: { ack_due_at: Date | null; lease_expires_at: Date | null }) {
  const { ack_due_at: dueAt, lease_expires_at: expiresAt } = job
  return dueAt !== null && expiresAt !== null && expiresAt <= dueAt
}

/** Whether a plan is applied without confirmation and without stages in between: its JSON may then follow its result. */
export function appliesImmediately(run: RunRow) {
  const hasStage = run.stages.some((stage) => stage === 'post_plan' || stage === 'pre_apply')
  return run.auto_apply && !run.awaits_review && !run.plan_only && !run.save_plan && !hasStage
}

/** The columns of a phase for the resource counts of an agent. */
export function countColumns({ counts }: { counts?: ResourceCounts | undefined }) {
  if (!counts) return {}
  return {
    resource_additions: counts.additions,
    resource_changes: counts.changes,
    resource_destructions: counts.destructions,
    resource_imports: counts.imports,
  }
}
