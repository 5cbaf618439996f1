import { POLL_MS } from '../polls.ts'
import { markChecked, type ClaimRequest } from './scheduler.ts'

/** A waiting claim. */
export type Waiter<W extends ClaimRequest, Item> = {
  request: W
  give: (item: Item | undefined) => void
  /** Fails the claim because the queue cannot be read. */
  refuse: () => void
  /** The queue was checked and has nothing for this agent. Every claim gets at least one check. */
  isChecked: boolean
  expired: boolean
}

/** The claims of a pool that wait in this process. */
export type Pool<W extends ClaimRequest, Item> = {
  id: string
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

/** Records that the queue of the pool was found empty. */
export function noteEmpty<W extends ClaimRequest, Item>(pool: Pool<W, Item>, now: number) {
  pool.emptyAt = now
  for (const idle of pool.waiters) markChecked(idle)
}
