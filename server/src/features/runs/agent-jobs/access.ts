import type { ArtifactKind } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { conflict, unauthorized } from '../../../errors.ts'
import { LATE_RESULT_WINDOW_MS, isDocument } from '../plans/artifact.ts'
import { type Job, findJob } from './store.ts'

/** The job, running or not. Throws `unauthorized` when the token is not the job's. */
export async function requireAnyJob(ctx: Ctx, id: string, token: string | undefined): Promise<Job> {
  const job = token === undefined ? undefined : await findJob(ctx.db, { id, hash: tokenHash(token).toString('hex') })
  if (!job) throw unauthorized('the token is not that of this job')
  return job
}

/** A running job. Throws `conflict` when it has ended or its lease was lost. */
export async function requireJob(ctx: Ctx, id: string, token: string | undefined): Promise<Job> {
  const job = await requireAnyJob(ctx, id, token)
  checkRunning(job)
  return job
}

/** A job whose agent may send its log and its files: a running one, or an apply that was lost. Throws `conflict`. */
export async function requireOpenJob(ctx: Ctx, id: string, token: string | undefined): Promise<Job> {
  const job = await requireAnyJob(ctx, id, token)
  if (!acceptsLate(job, ctx.now())) checkRunning(job)
  return job
}

/** As `requireOpenJob`, for a job that sends a file of this kind: the documents of a plan may come after its end. */
export async function requireJobForFile(
  ctx: Ctx,
  id: string,
  { token, kind }: { token: string | undefined; kind: ArtifactKind },
): Promise<Job> {
  const job = await requireAnyJob(ctx, id, token)
  const isOwed = isDocument(kind) && owesDocuments(job, ctx.now())
  if (!isOwed && !acceptsLate(job, ctx.now())) checkRunning(job)
  return job
}

/** Whether the outcome of the job's plan was accepted, and its documents may still come. */
export function owesDocuments(job: Pick<Job, 'id' | 'kind' | 'plan_job_id' | 'documents_owed_at'>, now: Date) {
  const { id, kind, plan_job_id: planJobId, documents_owed_at: owedAt } = job
  return (
    kind === 'plan' && planJobId === id && owedAt !== null && now.getTime() - owedAt.getTime() < LATE_RESULT_WINDOW_MS
  )
}

/** Whether the job is an apply whose agent was away for longer than its lease, and may still tell how it has ended. */
export function acceptsLate(job: Pick<Job, 'kind' | 'lost_at' | 'late_result_at'>, now: Date) {
  const { kind, lost_at: lostAt, late_result_at: resultAt } = job
  return (
    kind === 'apply' && lostAt !== null && resultAt === null && now.getTime() - lostAt.getTime() < LATE_RESULT_WINDOW_MS
  )
}

export function checkRunning(job: Pick<Job, 'id' | 'status'>) {
  if (job.status !== 'running') throw jobGone(job.id)
}

export function jobGone(id: string) {
  return conflict(`the job ${id} is no longer yours: its lease was lost, or it has ended`)
}
