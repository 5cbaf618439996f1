import { sql } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { lookup } from '../../../db/lookup.ts'
import { conflict, unauthorized } from '../../../errors.ts'

/** The job of a request, found by the job's own token: one query authenticates and loads. */
export type Job = NonNullable<Awaited<ReturnType<typeof findJob>>>

/** `hash` is the hex text of the token's. */
const findJob = lookup(['id', 'hash'], (db, { id, hash }) =>
  db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .leftJoin('phases as plan', (join) => join.onRef('plan.run_id', '=', 'r.id').on('plan.kind', '=', 'plan'))
    .select(['j.id', 'j.kind', 'j.status', 'j.command', 'j.phase_id', 'j.run_id', 'j.agent_id', 'j.lease_expires_at'])
    .select(['r.workspace_id', 'r.configuration_version_id', 'plan.job_id as plan_job_id'])
    .where('j.id', '=', id)
    .where('j.token_hash', '=', sql<Buffer>`decode(${hash}, 'hex')`),
)

/** The job whatever has become of it. Throws `unauthorized` when the token is not the job's. */
export async function requireAnyJob(ctx: Ctx, id: string, token: string | undefined): Promise<Job> {
  const job = token === undefined ? undefined : await findJob(ctx.db, { id, hash: tokenHash(token).toString('hex') })
  if (!job) throw unauthorized('the token is not that of this job')
  return job
}

/** A job that is still this agent's. Throws `conflict` when it has ended, by whatever. */
export async function requireJob(ctx: Ctx, id: string, token: string | undefined): Promise<Job> {
  const job = await requireAnyJob(ctx, id, token)
  checkRunning(job)
  return job
}

export function checkRunning(job: Pick<Job, 'id' | 'status'>) {
  if (job.status !== 'running')
    throw conflict(`the job ${job.id} is no longer yours: its lease was lost, or it has ended`)
}
