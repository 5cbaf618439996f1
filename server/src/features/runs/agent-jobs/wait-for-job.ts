import type { AgentJob } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import type { Signals } from '../../../signals.ts'
import { claimJob } from './claim.ts'
import { releaseJob } from './release.ts'
import { type ClaimingAgent, hasQueuedJobs } from './store.ts'

/**
 * A claim that waits in this process. One loop serves all claims of a pool, so that a new job costs one query of the queue and
 * not one for every waiting agent.
 */
type Waiter = {
  agent: ClaimingAgent
  warmRunIds: readonly string[]
  give: (job: AgentJob | undefined) => void
  /** The queue was found empty for this agent. A claim is not answered before that, however short it may wait. */
  hasLooked: boolean
  expired: boolean
}
type Pool = { waiters: Set<Waiter>; arrival: AbortController; ctx: Ctx }

const pools = new WeakMap<Signals, Map<string, Pool>>()

/** A missed signal, or a job that was reserved for another agent, delays a claim by at most this long, in ms. */
const POLL_MS = 2000
/** After this long, in ms, the queue is queried again for a job whose workspace was locked. */
const RETRY_MS = 50

/**
 * The next job for the agent, or undefined when none came within `waitMs` or before the abort. A claim whose `signal` has
 * aborted gets no job.
 */
export async function waitForJob(
  ctx: Ctx,
  agent: ClaimingAgent,
  { waitMs, warmRunIds, signal }: { waitMs: number; warmRunIds: readonly string[]; signal: AbortSignal },
): Promise<AgentJob | undefined> {
  if (signal.aborted) return undefined
  const pool = poolOf(ctx, agent.agent_pool_id)
  return new Promise((resolve) => {
    const end = (job: AgentJob | undefined) => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      pool.waiters.delete(waiter)
      resolve(job)
    }
    const onAbort = () => end(undefined)
    const onTimeout = () => {
      waiter.expired = true
      if (waiter.hasLooked) end(undefined)
    }
    const waiter: Waiter = { agent, warmRunIds, give: end, hasLooked: false, expired: false }
    const timer = setTimeout(onTimeout, waitMs)
    signal.addEventListener('abort', onAbort, { once: true })
    pool.waiters.add(waiter)
    if (pool.waiters.size === 1) void serve(pool, agent.agent_pool_id)
    else pool.arrival.abort()
  })
}

/** Answers the waiting claims of an agent that takes no more jobs. */
export function endClaims(ctx: Ctx, agentId: string) {
  for (const pool of pools.get(ctx.signals)?.values() ?? []) {
    for (const waiter of pool.waiters) if (waiter.agent.id === agentId) waiter.give(undefined)
  }
}

function poolOf(ctx: Ctx, id: string) {
  const known = pools.get(ctx.signals) ?? new Map<string, Pool>()
  pools.set(ctx.signals, known)
  const pool = known.get(id) ?? { waiters: new Set(), arrival: new AbortController(), ctx }
  known.set(id, pool)
  return pool
}

const serving = new WeakSet<Pool>()

async function serve(pool: Pool, poolId: string) {
  if (serving.has(pool)) return pool.arrival.abort()
  serving.add(pool)
  using signals = pool.ctx.signals.subscribe(`pool:${poolId}`)
  while (pool.waiters.size > 0) {
    pool.arrival = new AbortController()
    const { signal } = pool.arrival
    const isEmpty = await handOutJobs(pool, poolId).catch((error: unknown) => {
      pool.ctx.log.error({ err: error }, 'claiming a job')
      return true
    })
    if (pool.waiters.size > 0) await signals.next({ timeoutMs: isEmpty ? POLL_MS : RETRY_MS, signal })
  }
  serving.delete(pool)
  return undefined
}

/** Hands out jobs until none is left for the agents that wait here. Returns whether the queue is empty. */
async function handOutJobs(pool: Pool, poolId: string) {
  const empty = new Set<string>()
  for (;;) {
    if (pool.waiters.size === 0) return true
    if (!(await hasQueuedJobs(pool.ctx.db, poolId))) {
      for (const idle of pool.waiters) noteEmpty(idle)
      return true
    }
    const waiter = [...pool.waiters].find(({ agent }) => !empty.has(agent.id))
    if (!waiter) return false
    const job = await claimJob(pool.ctx, waiter.agent, waiter.warmRunIds)
    if (!job) {
      empty.add(waiter.agent.id)
      for (const idle of pool.waiters) if (idle.agent.id === waiter.agent.id) noteEmpty(idle)
      continue
    }
    // The claim may have ended in the meantime. Another claim of the same agent then gets the job, or the job goes back.
    const taker = pool.waiters.has(waiter)
      ? waiter
      : [...pool.waiters].find(({ agent }) => agent.id === waiter.agent.id)
    if (taker) taker.give(job)
    else await handBack(pool.ctx, job)
  }
}

function noteEmpty(waiter: Waiter) {
  waiter.hasLooked = true
  if (waiter.expired) waiter.give(undefined)
}

async function handBack(ctx: Ctx, job: AgentJob) {
  await releaseJob(ctx, { id: job.id, run_id: job.runId, workspace_id: job.workspaceId })
}
