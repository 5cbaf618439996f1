import type { Ctx } from '../app.ts'
import { unavailable } from '../errors.ts'
import type { Signals } from '../signals.ts'
import { Turns, noteLooked, type Wish } from './turns.ts'

/** What the agents of a pool claim, and how; `W` is what an agent asks for. */
export type ClaimQueue<W extends Wish, Item> = {
  /** For messages: what there is to claim, in the plural. */
  items: string
  /** The signal that there is something new for a pool. */
  topic: (poolId: string) => string
  /** Those of the pools that have something for which there is room. */
  listPoolsWithItems: (ctx: Ctx, poolIds: readonly string[]) => Promise<string[]>
  /** Takes the next item for an agent, without waiting; `exited` when the agent has exited meanwhile. */
  claim: (ctx: Ctx, wish: W) => Promise<Item | 'exited' | undefined>
  /** Gives an item back that its agent will not receive. */
  handBack: (ctx: Ctx, item: Item, wish: W) => Promise<void>
  /** Agents of one kind find the same. */
  kindOf: (wish: W) => string
  /** Those of the agents that something in the pool is reserved for. */
  listPreferredAgents: (ctx: Ctx, poolId: string, agentIds: readonly string[]) => Promise<string[]>
}

export type Claims<W extends Wish, Item> = {
  /**
   * The next item for the agent, or undefined when none came within `waitMs` or before the abort. A claim whose `signal` has
   * aborted gets none. Throws `unavailable` when the queue could not be read until then.
   */
  wait: (ctx: Ctx, wish: W, options: { waitMs: number; signal: AbortSignal }) => Promise<Item | undefined>
  /** Answers the claims of an agent that wait in this process. */
  end: (ctx: Ctx, agentId: string) => void
}

/** The signal that ends the claims of an agent which wait, on every replica: the agent asks again if it is there. */
export function claimsTopic(agentId: string) {
  return `agent-claims:${agentId}`
}

export type Waiter<W extends Wish, Item> = {
  wish: W
  give: (item: Item | undefined) => void
  /** Answers that the queue can't be read. */
  refuse: () => void
  /** The queue was found to have nothing for this agent. A claim is not answered before that, however short it may wait. */
  hasLooked: boolean
  expired: boolean
}

type Pool<W extends Wish, Item> = {
  id: string
  waiters: Set<Waiter<W, Item>>
  subscription: Disposable
  /** Ends the pause of the pool's loop. */
  wake: AbortController
  isServed: boolean
  /** Something new has come: whether there is anything need not be asked. */
  isSignalled: boolean
  /** When the queue was last found empty, in ms of the process; undefined once there may be something. */
  emptyAt: number | undefined
}

type Desk<W extends Wish, Item> = { ctx: Ctx; pools: Map<string, Pool<W, Item>>; isPolling: boolean }

/** A missed signal delays a claim by at most this long, in ms. */
const POLL_MS = 2000
/** An agent whose claim has ended asks again at once: what is known of its pool is kept for as long, in ms. */
const KEPT_MS = 2 * POLL_MS
/**
 * After this long, in ms, the queue is looked at again for what could not be taken: its workspace was locked, it is reserved
 * for another agent, or a limit holds it back. The pause doubles as long as nothing changes.
 */
const RETRY_MS = 50
const LONGEST_RETRY_MS = 1000
/** A claim that has expired waits this long, in ms, for the look at the queue that it still needs. */
const LAST_LOOK_MS = 5000

/**
 * Claims that wait in this process. One loop serves all claims of a pool, so that something new costs one look at the queue and
 * not one for every waiting agent. One loop for the process polls for all pools at once, so that idle agents cost next to nothing.
 */
export function createClaims<W extends Wish, Item>(queue: ClaimQueue<W, Item>): Claims<W, Item> {
  const desks = new WeakMap<Signals, Desk<W, Item>>()

  async function wait(ctx: Ctx, wish: W, { waitMs, signal }: { waitMs: number; signal: AbortSignal }) {
    if (signal.aborted) return undefined
    const desk = deskOf(ctx)
    const pool = poolOf(desk, wish.agent.agent_pool_id)
    const item = await new Promise<Item | undefined>((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        ending[Symbol.dispose]()
        pool.waiters.delete(waiter)
      }
      const give = (item: Item | undefined) => {
        leave()
        resolve(item)
      }
      const refuse = () => {
        leave()
        reject(unavailable(`the queue of ${queue.items} can not be read now`))
      }
      const onAbort = () => give(undefined)
      const onTimeout = () => {
        waiter.expired = true
        if (waiter.hasLooked) return give(undefined)
        timer = setTimeout(refuse, LAST_LOOK_MS)
        look(desk, pool)
      }
      const waiter: Waiter<W, Item> = { wish, give, refuse, hasLooked: false, expired: false }
      let timer = setTimeout(onTimeout, heldMs(waitMs))
      signal.addEventListener('abort', onAbort, { once: true })
      const ending = ctx.signals.listen(claimsTopic(wish.agent.id), () => give(undefined))
      pool.waiters.add(waiter)
      // A queue that was empty a moment ago is empty still, or its signal is on the way. The next poll looks for a lost one.
      const isEmpty = pool.emptyAt !== undefined && performance.now() - pool.emptyAt < KEPT_MS
      if (!isEmpty || waitMs < POLL_MS) look(desk, pool)
      void poll(desk)
    })
    if (item === undefined || !signal.aborted) return item
    // It came as the claim was given up.
    await queue.handBack(ctx, item, wish)
    return undefined
  }

  function end(ctx: Ctx, agentId: string) {
    for (const pool of desks.get(ctx.signals)?.pools.values() ?? []) {
      for (const waiter of pool.waiters) if (waiter.wish.agent.id === agentId) waiter.give(undefined)
    }
  }

  function deskOf(ctx: Ctx): Desk<W, Item> {
    const desk = desks.get(ctx.signals) ?? { ctx, pools: new Map(), isPolling: false }
    desks.set(ctx.signals, desk)
    return desk
  }

  function poolOf(desk: Desk<W, Item>, id: string): Pool<W, Item> {
    const known = desk.pools.get(id)
    if (known) return known
    const pool: Pool<W, Item> = {
      id,
      waiters: new Set(),
      subscription: desk.ctx.signals.listen(queue.topic(id), () => {
        pool.isSignalled = true
        look(desk, pool)
      }),
      wake: new AbortController(),
      isServed: false,
      isSignalled: false,
      emptyAt: undefined,
    }
    desk.pools.set(id, pool)
    return pool
  }

  /** Makes the loop of a pool look at the queue now, whatever it is doing. */
  function look(desk: Desk<W, Item>, pool: Pool<W, Item>) {
    pool.emptyAt = undefined
    pool.wake.abort()
    if (pool.isServed || pool.waiters.size === 0) return
    pool.isServed = true
    void serve(desk, pool)
  }

  /** Looks for all pools in one statement, every few seconds as long as a claim waits. */
  async function poll(desk: Desk<W, Item>) {
    if (desk.isPolling) return
    desk.isPolling = true
    while ([...desk.pools.values()].some((pool) => pool.waiters.size > 0)) {
      await pause(POLL_MS)
      const asked = [...desk.pools.values()].filter((pool) => pool.waiters.size > 0 && !pool.isServed)
      for (const pool of desk.pools.values()) if (isAbandoned(pool, performance.now())) forget(desk, pool)
      if (asked.length === 0) continue
      const ids = asked.map(({ id }) => id)
      const found = new Set(
        await queue.listPoolsWithItems(desk.ctx, ids).catch((error: unknown) => {
          desk.ctx.log.error({ err: error }, `looking for queued ${queue.items}`)
          return ids
        }),
      )
      const now = performance.now()
      for (const pool of asked) {
        if (found.has(pool.id)) look(desk, pool)
        else if (!pool.isServed) noteEmpty(pool, now)
      }
    }
    desk.isPolling = false
  }

  function forget(desk: Desk<W, Item>, pool: Pool<W, Item>) {
    pool.subscription[Symbol.dispose]()
    desk.pools.delete(pool.id)
  }

  /** Hands out what a pool has until its queue is empty or nobody waits. */
  async function serve({ ctx }: Desk<W, Item>, pool: Pool<W, Item>) {
    let retryMs = RETRY_MS
    while (pool.waiters.size > 0) {
      pool.wake = new AbortController()
      const { signal } = pool.wake
      const outcome = await handOut(ctx, pool).catch((error: unknown) => {
        ctx.log.error({ err: error }, `claiming ${queue.items}`)
        for (const waiter of pool.waiters) if (waiter.expired) waiter.refuse()
        return 'blocked' as const
      })
      if (signal.aborted) retryMs = RETRY_MS
      else if (outcome === 'empty') {
        noteEmpty(pool, performance.now())
        break
      } else if (pool.waiters.size > 0) {
        await pause(retryMs, signal)
        retryMs = signal.aborted ? RETRY_MS : Math.min(retryMs * 2, LONGEST_RETRY_MS)
      }
    }
    // In the same step as the last look at the waiters, so that whoever comes next starts the loop again.
    pool.isServed = false
  }

  /** Hands out until nothing is left that the agents which wait here can take. */
  async function handOut(ctx: Ctx, pool: Pool<W, Item>): Promise<'empty' | 'blocked'> {
    const turns = new Turns(pool.waiters, queue.kindOf)
    for (;;) {
      if (!pool.isSignalled && (await queue.listPoolsWithItems(ctx, [pool.id])).length === 0) return 'empty'
      pool.isSignalled = false
      const waiter = turns.next()
      if (!waiter) return 'blocked'
      const { wish } = waiter
      const item = await queue.claim(ctx, wish)
      if (item === 'exited') {
        end(ctx, wish.agent.id)
        continue
      }
      if (!item) {
        const others = turns.isKnown ? [] : [...pool.waiters].map((other) => other.wish.agent.id)
        turns.pass(waiter, others.length < 2 ? [] : await queue.listPreferredAgents(ctx, pool.id, others))
        continue
      }
      // The claim may have ended in the meantime. Another claim of the same agent then gets the item, or it goes back.
      const isSame = (other: Waiter<W, Item>) => other.wish.agent.id === wish.agent.id
      const taker = pool.waiters.has(waiter) ? waiter : [...pool.waiters].find(isSame)
      if (taker) taker.give(item)
      else await queue.handBack(ctx, item, wish)
    }
  }

  return { wait, end }
}

/**
 * How long a claim is held, in ms. Long ones end together, a little early: agents that ask again at the same moment share the
 * statements that this takes.
 */
function heldMs(waitMs: number) {
  return waitMs < KEPT_MS ? waitMs : waitMs - ((performance.now() + waitMs) % POLL_MS)
}

type AnyPool = { waiters: Set<Pick<Waiter<Wish, never>, 'hasLooked' | 'expired' | 'give'>> }

function isAbandoned(
  { waiters, isServed, emptyAt }: AnyPool & { isServed: boolean; emptyAt: number | undefined },
  now: number,
) {
  return waiters.size === 0 && !isServed && (emptyAt === undefined || now - emptyAt > KEPT_MS)
}

function noteEmpty(pool: AnyPool & { emptyAt: number | undefined }, now: number) {
  pool.emptyAt = now
  for (const idle of pool.waiters) noteLooked(idle)
}

/** Waits for a time in ms, or until the abort. */
async function pause(ms: number, signal?: AbortSignal) {
  if (signal?.aborted) return undefined
  return new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms).unref()
    signal?.addEventListener('abort', end)
  })
}
