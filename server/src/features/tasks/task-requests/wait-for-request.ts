import type { TaskRequest } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { unavailable } from '../../../errors.ts'
import type { Signals } from '../../../signals.ts'
import { claimTaskRequest } from './claim.ts'
import type { ClaimingAgent } from './claiming-agent.ts'
import { NOTE_MS } from './online.ts'
import { releaseTaskRequest } from './release.ts'
import { noteClaim } from './store.ts'
import { queueTopic } from './topics.ts'

/** A claim that waits in this process. One loop serves all claims of a pool, the oldest first. */
type Waiter = {
  agent: ClaimingAgent
  give: (request: TaskRequest | undefined) => void
  /** Answers that the queue can't be read. */
  refuse: () => void
  /** The queue was found empty. A claim is not answered before that, however short it may wait. */
  hasLooked: boolean
  expired: boolean
}
type Pool = { waiters: Set<Waiter>; arrival: AbortController; isServed: boolean }

const pools = new WeakMap<Signals, Map<string, Pool>>()

/** A missed signal delays a claim by at most this long, in ms. */
const POLL_MS = 2000
/** A claim that has expired waits this long, in ms, for the look at the queue that it still needs. */
const LAST_LOOK_MS = 5000

/**
 * The next request for the agent, or undefined when none came within `waitMs` or before the abort. A claim whose `signal`
 * has aborted gets none. Throws `unavailable` when the queue could not be read until then.
 */
export async function waitForTaskRequest(
  ctx: Ctx,
  agent: ClaimingAgent,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<TaskRequest | undefined> {
  await noteClaim(ctx.db, agent.id, { now: ctx.now(), intervalMs: NOTE_MS })
  if (signal.aborted) return undefined
  const pool = poolOf(ctx, agent.agent_pool_id)
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      pool.waiters.delete(waiter)
    }
    const end = (request: TaskRequest | undefined) => {
      leave()
      resolve(request)
    }
    const refuse = () => {
      leave()
      reject(unavailable('the queue of requests can not be read now'))
    }
    const onAbort = () => end(undefined)
    const onTimeout = () => {
      waiter.expired = true
      if (waiter.hasLooked) return end(undefined)
      timer = setTimeout(refuse, LAST_LOOK_MS)
      pool.arrival.abort()
    }
    const waiter: Waiter = { agent, give: end, refuse, hasLooked: false, expired: false }
    let timer = setTimeout(onTimeout, waitMs)
    signal.addEventListener('abort', onAbort, { once: true })
    pool.waiters.add(waiter)
    if (pool.isServed) pool.arrival.abort()
    else void serve(ctx, pool, agent.agent_pool_id)
  })
}

/** Answers the waiting claims of an agent that takes no more requests. */
export function endTaskClaims(ctx: Ctx, agentId: string) {
  for (const pool of pools.get(ctx.signals)?.values() ?? []) {
    for (const waiter of pool.waiters) if (waiter.agent.id === agentId) waiter.give(undefined)
  }
}

function poolOf(ctx: Ctx, id: string) {
  const known = pools.get(ctx.signals) ?? new Map<string, Pool>()
  pools.set(ctx.signals, known)
  const pool = known.get(id) ?? { waiters: new Set(), arrival: new AbortController(), isServed: false }
  known.set(id, pool)
  return pool
}

async function serve(ctx: Ctx, pool: Pool, poolId: string) {
  pool.isServed = true
  using signals = ctx.signals.subscribe(queueTopic(poolId))
  while (pool.waiters.size > 0) {
    pool.arrival = new AbortController()
    const { signal } = pool.arrival
    await handOut(ctx, pool).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'claiming a request of a run task')
      for (const waiter of pool.waiters) if (waiter.expired) waiter.refuse()
    })
    if (pool.waiters.size > 0) await signals.next({ timeoutMs: POLL_MS, signal })
  }
  pool.isServed = false
}

/** Hands out requests until none is left for those who wait here. */
async function handOut(ctx: Ctx, pool: Pool) {
  for (const waiter of pool.waiters) {
    const request = await claimTaskRequest(ctx, waiter.agent)
    if (request === 'exited') {
      endTaskClaims(ctx, waiter.agent.id)
      continue
    }
    if (!request) break
    // The claim may have ended in the meantime. Another claim of the same agent then gets the request, or it goes back.
    const isSame = (other: Waiter) => other.agent.id === waiter.agent.id
    const taker = pool.waiters.has(waiter) ? waiter : [...pool.waiters].find(isSame)
    if (taker) taker.give(request)
    else await releaseTaskRequest(ctx, waiter.agent, request.id)
  }
  for (const idle of pool.waiters) {
    idle.hasLooked = true
    if (idle.expired) idle.give(undefined)
  }
}
