import { setTimeout as delay } from 'node:timers/promises'
import type { Ctx } from '../../../app.ts'
import { claimsTopic } from '../../../claims/claims.ts'
import { afterCommit } from '../../../db/db.ts'
import { leasesLost } from '../../../metrics.ts'
import { POLL_MS } from '../../../polls.ts'
import { applyChange } from '../runs/advance.ts'
import { insertNotice } from './log-store.ts'
import { MAX_ATTEMPTS, agentOf, changeRunOfJob, lostWith, requeue } from './service.ts'
import * as store from './store.ts'

/** Interval of lease checks, in ms; a fifth of the lease where that is shorter. */
const INTERVAL_MS = 5000
/** A check later than this, in ms, means that this process or its machine was suspended. */
const MAX_DELAY_MS = 5000
/** Number of lost plans after which a run ends. */
const MAX_LOST = 3

/** Ends or requeues the jobs whose lease has expired, and returns their number. Replicas may do this concurrently. */
export async function reapLostLeases(ctx: Ctx, now = ctx.now()): Promise<number> {
  const expired = await store.listExpiredJobs(ctx.db, now)
  for (const job of expired) {
    // A job that cannot be ended must not block the others.
    await endOrRequeue(ctx, job, now).catch((error: unknown) => {
      ctx.log.error({ err: error, job: job.id, run: job.run_id }, 'the lease of a job is lost')
    })
  }
  return expired.length
}

/** Requeues an unacknowledged job. A plan is retried a few times; an apply that may have started is not, since its progress is unknown. */
async function endOrRequeue(ctx: Ctx, job: store.JobKey, now: Date) {
  await changeRunOfJob(ctx, job, async (ctx, { locked, lease }) => {
    // A heartbeat may have renewed it in the meantime.
    if (!lease.lease_expires_at || lease.lease_expires_at > now) return
    const agent = agentOf(lease)
    const count = (outcome: string) => afterCommit(ctx.db, () => leasesLost.inc({ kind: lease.kind, outcome }))
    if (store.isUnacknowledged(lease)) {
      count('unacknowledged')
      ctx.log.warn({ job: job.id, run: job.run_id, agent: lease.agent_id }, 'a job did not reach its agent')
      // Ends the agent's waiting claims, which may be dead too and would get this job first.
      if (lease.agent_id) ctx.signals.publish(ctx.db, claimsTopic(lease.agent_id))
      const error =
        `${agent} did not acknowledge the ${lease.kind}, the last of ${MAX_ATTEMPTS} attempts without a result. ` +
        'Check the logs of the agents, and whether their version matches this server'
      await requeue(ctx, { locked, lease }, error)
      return
    }
    const mayRetry = lease.kind === 'plan' && lease.attempt < MAX_ATTEMPTS
    const isRetried = mayRetry && (await store.countLost(ctx.db, lease.phase_id)) + 1 < MAX_LOST
    count(isRetried ? 'requeued' : 'errored')
    const error = lostError(agent, lease)
    const notice = isRetried ? `${agent} stopped sending heartbeats: the plan starts again on another` : error
    const noticeBytes = await insertNotice(ctx.db, locked[lease.kind].id, notice)
    await store.markLost(ctx.db, job.id, { now, noticeBytes })
    await applyChange(ctx, locked, isRetried ? { job: 'retry' } : lostWith(error))
  })
}

function lostError(agent: string, { kind, attempt }: Pick<store.LockedLease, 'kind' | 'attempt'>) {
  return kind === 'plan'
    ? `${agent} stopped sending heartbeats in attempt ${attempt} at the plan: check whether agents are killed, for example by the OOM killer`
    : `${agent} stopped sending heartbeats during the apply, whose progress is unknown. It was requested to interrupt the ` +
        'engine, and its late result will be added to this run. The state that reached the server was kept. Check whether ' +
        'the engine is still running there, compare the state with the real resources, and import or remove what differs ' +
        'before the next apply'
}

export type LeaseReaper = ReturnType<typeof createLeaseReaper>

/**
 * Reaps expired leases once this process has watched them for the length of a lease without interruption. While a server was down or
 * disconnected from its database, no agent could renew a lease, so an expired one does not mean that the agent is lost.
 */
export function createLeaseReaper(ctx: Ctx) {
  const { lease } = ctx.config
  const intervalMs = Math.min(INTERVAL_MS, lease / 5)
  const latestMs = intervalMs + Math.min(MAX_DELAY_MS, lease / 2)
  let watchedSince: number | undefined
  let checkedAt = 0

  return {
    intervalMs,
    /** Restarts the wait after a failed query. */
    fail() {
      watchedSince = undefined
    },
    /** Call it every `intervalMs`. Returns the number of ended or requeued jobs. `hasNone`: a query has just found none. */
    async check(hasNone = false) {
      // Leases that expire after this are left to the next check: this process may freeze during this one.
      const now = ctx.now()
      const elapsedMs = now.getTime() - checkedAt
      if (watchedSince === undefined || elapsedMs > latestMs || elapsedMs < 0) watchedSince = now.getTime()
      checkedAt = now.getTime()
      if (hasNone) return 0
      try {
        if (now.getTime() - watchedSince >= lease) return await reapLostLeases(ctx, now)
        // A failing query restarts the wait.
        await store.listExpiredJobs(ctx.db, now)
        return 0
      } catch (error) {
        watchedSince = undefined
        throw error
      }
    },
  }
}

/** Reaps expired leases until disposed: with the polls of the process, or more often if leases are short. */
export function startLeaseReaper(ctx: Ctx): AsyncDisposable {
  const reaper = createLeaseReaper(ctx)
  return reaper.intervalMs < POLL_MS ? reapInLoop(ctx, reaper) : reapWithPolls(ctx, reaper)
}

function reapWithPolls(ctx: Ctx, reaper: LeaseReaper): AsyncDisposable {
  let checking: Promise<unknown> | undefined
  const check = (hasNone: boolean) => {
    checking ??= checkLogged(ctx, reaper, hasNone).finally(() => (checking = undefined))
  }
  const poll = ctx.polls.add({
    query: () => store.hasExpiredJobs(ctx.now()),
    onValue: (hasExpired) => check(!hasExpired),
    onError: reaper.fail,
  })
  return {
    async [Symbol.asyncDispose]() {
      poll[Symbol.dispose]()
      await checking
    },
  }
}

async function checkLogged(ctx: Ctx, reaper: LeaseReaper, hasNone = false) {
  await reaper.check(hasNone).catch((error: unknown) => ctx.log.error({ err: error }, 'checking for lost leases'))
}

function reapInLoop(ctx: Ctx, reaper: LeaseReaper): AsyncDisposable {
  const stop = new AbortController()
  const loop = async () => {
    while (!stop.signal.aborted) {
      await checkLogged(ctx, reaper)
      await delay(reaper.intervalMs, undefined, { signal: stop.signal, ref: false }).catch(() => {})
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
