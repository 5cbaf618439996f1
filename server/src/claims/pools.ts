import { POLL_MS } from '../polls.ts'
import { noteLooked, type Wish } from './turns.ts'

/** A claim that waits. */
export type Waiter<W extends Wish, Item> = {
  wish: W
  give: (item: Item | undefined) => void
  /** Answers that the queue can't be read. */
  refuse: () => void
  /** The queue was found to have nothing for this agent. A claim is not answered before that, however short it may wait. */
  hasLooked: boolean
  expired: boolean
}

/** The claims that wait for something of a pool in this process. */
export type Pool<W extends Wish, Item> = {
  id: string
  waiters: Set<Waiter<W, Item>>
  subscription: Disposable
  /** Ends the pause of the pool's loop. */
  wake: AbortController
  isServed: boolean
  /** Something new has come, and this process alone was told: whether there is anything need not be asked. */
  isSignalled: boolean
  /** Nobody else looks for what was signalled, unless this process passes it on. */
  isLeftToUs: boolean
  /** Runs before a look at what all processes were told of. */
  stagger: NodeJS.Timeout | undefined
  /** When the queue was last found empty, in ms of the process; undefined once there may be something. */
  emptyAt: number | undefined
}

/** An agent whose claim has ended asks again at once: what is known of its pool is kept for as long, in ms. */
export const KEPT_MS = 2 * POLL_MS

/** Whether nobody has waited for so long that nothing need be known of the pool. */
export function isAbandoned<W extends Wish, Item>({ waiters, isServed, emptyAt }: Pool<W, Item>, now: number) {
  return waiters.size === 0 && !isServed && (emptyAt === undefined || now - emptyAt > KEPT_MS)
}

/** The queue of the pool was found empty. */
export function noteEmpty<W extends Wish, Item>(pool: Pool<W, Item>, now: number) {
  pool.emptyAt = now
  for (const idle of pool.waiters) noteLooked(idle)
}
