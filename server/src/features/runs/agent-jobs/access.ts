import type { ArtifactKind } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { conflict, unauthorized } from '../../../errors.ts'
import { LATE_RESULT_WINDOW_MS, isDocument } from '../plans/artifact.ts'
import { type Job, findJob } from './store.ts'

/** The job, running or not. Throws `unauthorized` for another job's token. */
export async function requireAnyJob(ctx: Ctx, id: string, token: string | undefined): Promise<Job> {
  const job = token === undefined ? undefined : await findJob(ctx.db, { id, hash: tokenHash(token).toString('hex') })
  if (!job) throw unauthorized('the token does not belong to this job')
  return job
}

/** A running job. Throws `conflict` if it has ended or its lease was lost. */
export async function requireJob(ctx: Ctx, id: string, token: string | undefined): Promise<Job> {
  const job = await requireAnyJob(ctx, id, token)
  checkRunning(job)
  return job
}

type Upload = { token: string | undefined; kind?: ArtifactKind }

/** A job that may upload its log or a file of the `kind`: running, a lost apply, or a plan with pending documents. */
export async function requireJobForUpload(ctx: Ctx, id: string, { token, kind }: Upload): Promise<Job> {
  const job = await requireAnyJob(ctx, id, token)
  const isPending = kind !== undefined && isDocument(kind) && hasPendingDocuments(job, ctx.now())
  if (!isPending && !acceptsLateResult(job, ctx.now())) checkRunning(job)
  return job
}

function isWithinWindow(since: Date | null, now: Date) {
  return since !== null && now.getTime() - since.getTime() < LATE_RESULT_WINDOW_MS
}

/** Whether the result of the job's plan was accepted, and its documents may still arrive. */
export function hasPendingDocuments(job: Job, now: Date) {
  return job.kind === 'plan' && job.plan_job_id === job.id && isWithinWindow(job.documents_pending_since, now)
}

/** Whether the job is an apply whose lease was lost, and whose agent may still report its result. */
export function acceptsLateResult(job: Job, now: Date) {
  return job.kind === 'apply' && job.late_result_at === null && isWithinWindow(job.lost_at, now)
}

export function checkRunning(job: Pick<Job, 'id' | 'status'>) {
  if (job.status !== 'running') throw jobEnded(job.id)
}

export function jobEnded(id: string) {
  return conflict(`the job ${id} is no longer yours: its lease was lost, or it has ended`)
}
