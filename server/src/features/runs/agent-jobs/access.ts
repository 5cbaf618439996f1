import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { conflict, unauthorized } from '../../../errors.ts'
import { findJob, type Job } from './store.ts'

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

export function checkRunning(job: Pick<Job, 'id' | 'status'>) {
  if (job.status !== 'running')
    throw conflict(`the job ${job.id} is no longer yours: its lease was lost, or it has ended`)
}
