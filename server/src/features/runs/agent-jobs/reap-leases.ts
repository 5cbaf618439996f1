import { setTimeout as delay } from 'node:timers/promises'
import type { Ctx } from '../../../app.ts'
import { applyChange } from '../runs/advance.ts'
import { mayRetry } from '../runs/transition.ts'
import { changeRunOfJob } from './change-run.ts'
import { insertNotice } from './log-store.ts'
import { findLease, type JobKey, listExpiredJobs } from './store.ts'

const INTERVAL_MS = 5000

/** Ends or repeats every job whose lease has expired, and returns their number. Replicas may do this concurrently. */
export async function reapLostLeases(ctx: Ctx): Promise<number> {
  const expired = await listExpiredJobs(ctx.db, ctx.now())
  for (const job of expired) {
    // A job that cannot be ended must not hold up those behind it.
    await endOrRepeat(ctx, job).catch((error: unknown) => {
      ctx.log.error({ err: error, job: job.id, run: job.run_id }, 'the lease of a job is lost')
    })
  }
  return expired.length
}

/**
 * A plan is repeated a few times. An apply is never repeated, since nobody knows how far it got: the run is errored, and the
 * state that reached the server stays.
 */
async function endOrRepeat(ctx: Ctx, job: JobKey) {
  await changeRunOfJob(ctx, job, async (ctx, locked) => {
    const lease = await findLease(ctx.db, job.id)
    // A heartbeat may have renewed it in the meantime.
    if (!lease?.lease_expires_at || lease.lease_expires_at > ctx.now()) return
    const agent = `the agent ${lease.agent_name ?? ''}`.trim()
    if (mayRetry(lease)) {
      const notice = `${agent} gave no sign of life any more: the plan starts again on another`
      await insertNotice(ctx.db, locked.plan.id, notice)
      await applyChange(ctx, locked, { job: 'retry' })
      return
    }
    const error =
      lease.kind === 'plan'
        ? `${agent} gave no sign of life any more, as ${lease.attempt - 1} before it: see whether agents are killed, for want of memory for example`
        : `${agent} gave no sign of life any more while it applied: nobody knows how far it came. The state that reached ` +
          'the server was kept. See whether the engine still runs there, compare the state with what really exists, and ' +
          'import or remove what differs before the next apply'
    await insertNotice(ctx.db, locked[lease.kind].id, error)
    await applyChange(ctx, locked, { job: 'lost', run: { error }, events: [{ action: 'errored', description: error }] })
  })
}

/** Reaps expired leases every few seconds until it is disposed of. */
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
