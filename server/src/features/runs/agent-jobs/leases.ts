import { setTimeout as delay } from 'node:timers/promises'
import type { Ctx } from '../../../app.ts'
import { loseJob } from './finish.ts'

const INTERVAL_MS = 5000

/** Ends or repeats every job whose lease has run out; returns how many there were. Replicas may do it side by side. */
export async function reapLostLeases(ctx: Ctx): Promise<number> {
  const lost = await ctx.db
    .selectFrom('agent_jobs as j')
    .innerJoin('runs as r', 'r.id', 'j.run_id')
    .select(['j.id', 'j.run_id', 'r.workspace_id'])
    .where('j.status', '=', 'running')
    .where('j.lease_expires_at', '<', ctx.now())
    .orderBy('j.lease_expires_at')
    .limit(100)
    .execute()
  for (const job of lost) {
    // One that can't be dealt with must not keep those behind it waiting.
    await loseJob(ctx, job).catch((error: unknown) => {
      ctx.log.error({ err: error, job: job.id, run: job.run_id }, 'the lease of a job is lost')
    })
  }
  return lost.length
}

/** Looks for lost leases every few seconds until it is disposed of. */
export function startLeaseReaper(ctx: Ctx): AsyncDisposable {
  const stop = new AbortController()
  const loop = async () => {
    while (!stop.signal.aborted) {
      await reapLostLeases(ctx).catch((error: unknown) => ctx.log.error({ err: error }, 'looking for lost leases'))
      await delay(INTERVAL_MS, undefined, { signal: stop.signal, ref: false }).catch(() => {})
    }
  }
  const running = loop()
  return {
    async [Symbol.asyncDispose]() {
      stop.abort()
      await running
    },
  }
}
