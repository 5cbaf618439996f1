import { setTimeout as delay } from 'node:timers/promises'
import type { Ctx } from '../../../app.ts'
import { claimsTopic } from '../../../claims/claims.ts'
import { POLL_MS } from '../../../polls.ts'
import { applyChange } from '../runs/advance.ts'
import { mayRetry } from '../runs/transition.ts'
import { changeRunOfJob } from './change-run.ts'
import { insertNotice } from './log-store.ts'
import {
  type JobKey,
  countUnacknowledged,
  hasExpiredJobs,
  isUnacknowledged,
  listExpiredJobs,
  markLost,
} from './store.ts'

/** Interval of lease checks, in ms; a fifth of the lease where that is shorter. */
const INTERVAL_MS = 5000
/** A check later than this, in ms, means that this process or its machine was suspended. */
const MAX_DELAY_MS = 5000
/** Attempts to hand out a phase that no agent acknowledges. */
const MAX_UNACKNOWLEDGED = 10

/** Ends or repeats every job whose lease has expired, and returns their number. Replicas may do this concurrently. */
export async function reapLostLeases(ctx: Ctx, now = ctx.now()): Promise<number> {
  const expired = await listExpiredJobs(ctx.db, now)
  for (const job of expired) {
    // A job that cannot be ended must not hold up those behind it.
    await endOrRepeat(ctx, job, now).catch((error: unknown) => {
      ctx.log.error({ err: error, job: job.id, run: job.run_id }, 'the lease of a job is lost')
    })
  }
  return expired.length
}

/**
 * Requeues a job that its agent did not acknowledge. A plan is repeated a few times. An apply that may have begun is never
 * repeated, since its progress is unknown: the run is errored, and the state that reached the server is kept.
 */
async function endOrRepeat(ctx: Ctx, job: JobKey, now: Date) {
  await changeRunOfJob(ctx, job, {}, async (ctx, { locked, lease }) => {
    // A heartbeat may have renewed it in the meantime.
    if (!lease.lease_expires_at || lease.lease_expires_at > now) return
    const wasUnacknowledged = isUnacknowledged(lease)
    if (wasUnacknowledged && (await countUnacknowledged(ctx.db, lease.phase_id)) < MAX_UNACKNOWLEDGED) {
      ctx.log.warn({ job: job.id, run: job.run_id, agent: lease.agent_id }, 'a job did not reach its agent')
      // The agent's other claims may be dead as well, and this job would go to them first.
      if (lease.agent_id) ctx.signals.publish(ctx.db, claimsTopic(lease.agent_id))
      await applyChange(ctx, locked, { job: 'retry', isRequeued: true })
      return
    }
    const agent = `the agent ${lease.agent_name ?? ''}`.trim()
    if (!wasUnacknowledged && mayRetry(lease)) {
      const notice = `${agent} stopped sending heartbeats: the plan starts again on another`
      const noticeBytes = await insertNotice(ctx.db, locked.plan.id, notice)
      await markLost(ctx.db, job.id, { now, noticeBytes })
      await applyChange(ctx, locked, { job: 'retry' })
      return
    }
    const error = wasUnacknowledged ? unacknowledgedError(agent, lease.kind) : lostError(agent, lease)
    const noticeBytes = await insertNotice(ctx.db, locked[lease.kind].id, error)
    await markLost(ctx.db, job.id, { now, noticeBytes })
    await applyChange(ctx, locked, { job: 'lost', run: { error }, events: [{ action: 'errored', description: error }] })
  })
}

function unacknowledgedError(agent: string, kind: 'plan' | 'apply') {
  return (
    `${agent} did not acknowledge the ${kind}, as no agent before it in ${MAX_UNACKNOWLEDGED} attempts: nothing was started. ` +
    'Check the logs of the agents, and whether their version matches this server'
  )
}

function lostError(agent: string, { kind, attempt }: { kind: 'plan' | 'apply'; attempt: number }) {
  return kind === 'plan'
    ? `${agent} stopped sending heartbeats, as did ${attempt - 1} before it: check whether agents are killed, for example by the OOM killer`
    : `${agent} stopped sending heartbeats during the apply, whose progress is unknown. It was requested to interrupt the ` +
        'engine, and what it reports when it is back is added to this run. The state that reached the server was kept. See ' +
        'whether the engine still runs there, compare the state with what really exists, and import or remove what differs ' +
        'before the next apply'
}

export type LeaseReaper = {
  /**
   * Checks for expired leases; call it every `intervalMs` or more often. Returns how many jobs it ended or repeated.
   * `hasNone` means that a query has just found none.
   */
  check: (hasNone?: boolean) => Promise<number>
  /** The query for expired leases failed. */
  fail: () => void
  intervalMs: number
}

/**
 * Reaps expired leases once this process has watched for the length of a lease without a break. While a server was down or disconnected
 * from its database, no agent could renew a lease, so an expired one says nothing about the agent.
 */
export function createLeaseReaper(ctx: Ctx): LeaseReaper {
  const { lease } = ctx.config
  const intervalMs = Math.min(INTERVAL_MS, lease / 5)
  const latestMs = intervalMs + Math.min(MAX_DELAY_MS, lease / 2)
  let watchedSince: number | undefined
  let checkedAt = 0

  return {
    intervalMs,
    fail() {
      watchedSince = undefined
    },
    async check(hasNone = false) {
      // Leases that expire after this are left to the next check: this process may freeze in the middle of this one.
      const now = ctx.now()
      const elapsedMs = now.getTime() - checkedAt
      if (watchedSince === undefined || elapsedMs > latestMs || elapsedMs < 0) watchedSince = now.getTime()
      checkedAt = now.getTime()
      if (hasNone) return 0
      try {
        if (now.getTime() - watchedSince >= lease) return await reapLostLeases(ctx, now)
        // A failure of the database restarts the wait.
        await listExpiredJobs(ctx.db, now)
        return 0
      } catch (error) {
        watchedSince = undefined
        throw error
      }
    },
  }
}

/** Reaps expired leases until it is disposed of: with the polls of the process, or more often where leases are short. */
export function startLeaseReaper(ctx: Ctx): AsyncDisposable {
  const reaper = createLeaseReaper(ctx)
  return reaper.intervalMs < POLL_MS ? reapInLoop(ctx, reaper) : reapWithPolls(ctx, reaper)
}

function reapWithPolls(ctx: Ctx, reaper: LeaseReaper): AsyncDisposable {
  let checking: Promise<unknown> | undefined
  const check = (hasNone: boolean) => {
    checking ??= reaper
      .check(hasNone)
      .catch((error: unknown) => ctx.log.error({ err: error }, 'checking for lost leases'))
      .finally(() => (checking = undefined))
  }
  const question = ctx.polls.add({
    query: () => hasExpiredJobs(ctx.now()),
    onValue: (areThere) => check(!areThere),
    onError: reaper.fail,
  })
  return {
    async [Symbol.asyncDispose]() {
      question[Symbol.dispose]()
      await checking
    },
  }
}

function reapInLoop(ctx: Ctx, reaper: LeaseReaper): AsyncDisposable {
  const stop = new AbortController()
  const loop = async () => {
    while (!stop.signal.aborted) {
      await reaper.check().catch((error: unknown) => ctx.log.error({ err: error }, 'checking for lost leases'))
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
