import type { Ctx } from '../app.ts'
import { POLL_MS } from '../polls.ts'

/** A claim: the agent, and the other fields of its request. */
export type ClaimRequest = { agent: { id: string; agent_pool_id: string } }

/** A waiting claim. */
export type Waiter<W extends ClaimRequest, Item> = {
  request: W
  give: (item: Item | undefined) => void
  /** Fails the claim because the queue cannot be read. */
  fail: () => void
  /** The queue was checked and has nothing for this agent. Every claim gets at least one check. */
  isChecked: boolean
  isExpired: boolean
}

/** The claims of an agent pool that wait in this process. */
export type Pool<W extends ClaimRequest, Item> = {
  id: string
  ctx: Ctx
  waiters: Set<Waiter<W, Item>>
  subscription: Disposable
  /** Ends the pause of the pool's loop. */
  wake: AbortController
  isServed: boolean
  /** This process alone was notified of a new item, so the check for any items is skipped. */
  isSignalled: boolean
  /** No other process was notified; this one must notify the others if it cannot hand the item out. */
  isExclusive: boolean
  /** Random delay before the check after a signal to all processes. */
  stagger: NodeJS.Timeout | undefined
  /** Time of `performance.now()` when the queue was last found empty; undefined once it may have an item. */
  emptyAt: number | undefined
}

/** How long a pool without claims is kept, in ms: agents claim again as soon as a claim ends. */
export const POOL_TTL_MS = 2 * POLL_MS

/** Whether the pool has had no claim for `POOL_TTL_MS`. */
export function isAbandoned<W extends ClaimRequest, Item>({ waiters, isServed, emptyAt }: Pool<W, Item>, now: number) {
  return waiters.size === 0 && !isServed && (emptyAt === undefined || now - emptyAt > POOL_TTL_MS)
}

export function markEmpty<W extends ClaimRequest, Item>(pool: Pool<W, Item>) {
  pool.emptyAt = performance.now()
  for (const waiter of pool.waiters) markChecked(waiter)
}

/** Marks the waiter as checked, and ends it if it has expired. */
function markChecked<W extends ClaimRequest, Item>(waiter: Waiter<W, Item>) {
  waiter.isChecked = true
  if (waiter.isExpired) waiter.give(undefined)
}

/**
 * Decides which waiter of a pool claims next. If one agent found nothing, agents with the same key find nothing either, except an agent
 * with a reservation.
 */
export function createScheduler<W extends ClaimRequest, Item>(
  waiters: ReadonlySet<Waiter<W, Item>>,
  keyOf: (request: W) => string,
) {
  const passedKeys = new Set<string>()
  const passedAgents = new Set<string>()
  let preferred: ReadonlySet<string> | undefined

  function isPassed({ request }: Waiter<W, Item>) {
    const { id } = request.agent
    return passedAgents.has(id) || (passedKeys.has(keyOf(request)) && preferred?.has(id) !== true)
  }

  return {
    /** Whether the agents with a reservation are known. */
    knowsPreferred: () => preferred !== undefined,
    next() {
      for (const waiter of waiters) if (!isPassed(waiter)) return waiter
      return undefined
    },
    /** Records that the waiter found nothing. `agentIds` are the agents with a reservation, ignored once they are known. */
    pass({ request }: Waiter<W, Item>, agentIds: readonly string[]) {
      preferred ??= new Set(agentIds)
      passedKeys.add(keyOf(request))
      passedAgents.add(request.agent.id)
      for (const waiter of waiters) if (isPassed(waiter)) markChecked(waiter)
    },
  }
}
