import { type RawBuilder, sql } from 'kysely'
import type { Ctx } from '../app.ts'
import { unavailable } from '../errors.ts'
import { POLL_MS } from '../polls.ts'
import type { Signals } from '../signals.ts'
import { withTimeout } from '../silence.ts'
import { isAbandoned, KEPT_MS, noteEmpty, type Pool, type Waiter } from './pools.ts'
import { Turns, type Wish } from './turns.ts'
import { heldMs, pause } from './waits.ts'

/** What the agents of a pool claim, and how; `W` is what an agent asks for. */
export type ClaimQueue<W extends Wish, Item> = {
  /** For messages: what there is to claim, in the plural. */
  items: string
  /** The signal that there is something new for a pool. */
  topic: (poolId: string) => string
  /** SQL of the ids of those of the pools that have something for which there is room. */
  poolsWithItems: (ctx: Ctx, poolIds: readonly string[]) => RawBuilder<string[]>
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

type Desk<W extends Wish, Item> = { ctx: Ctx; pools: Map<string, Pool<W, Item>> }

/**
 * After this long, in ms, the queue is looked at again for what could not be taken: its workspace was locked, it is reserved
 * for another agent, or a limit holds it back. The pause doubles as long as nothing changes.
 */
const RETRY_MS = 50
const LONGEST_RETRY_MS = 1000
/** Processes that were all told of something new look within so many ms, at different moments: mostly the first one gets it. */
const STAGGER_MS = 10
/** A claim that has expired waits this long, in ms, for the look at the queue that it still needs. */
const LAST_LOOK_MS = 5000

/**
 * Claims that wait in this process. One loop serves all claims of a pool, so that something new costs one look at the queue and
 * not one for every waiting agent. The process polls for all pools at once (`polls.ts`), so that idle agents cost next to nothing.
 *
 * Something new wakes one process: the one in which it was queued, when a claim waits there (`Signals.publishToOne`). That one tells the others
 * what it could not hand out.
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
      let timer = setTimeout(onTimeout, heldMs(waitMs, wish.agent.id))
      signal.addEventListener('abort', onAbort, { once: true })
      const ending = ctx.signals.listen(claimsTopic(wish.agent.id), () => give(undefined))
      pool.waiters.add(waiter)
      // A queue that was empty a moment ago is empty still, or its signal is on the way. The next poll looks for a lost one.
      const isEmpty = pool.emptyAt !== undefined && performance.now() - pool.emptyAt < KEPT_MS
      if (!isEmpty || waitMs < POLL_MS) look(desk, pool)
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
    const known = desks.get(ctx.signals)
    if (known) return known
    const desk: Desk<W, Item> = { ctx, pools: new Map() }
    desks.set(ctx.signals, desk)
    poll(desk)
    return desk
  }

  function poolOf(desk: Desk<W, Item>, id: string): Pool<W, Item> {
    const known = desk.pools.get(id)
    if (known) return known
    const pool: Pool<W, Item> = {
      id,
      waiters: new Set(),
      subscription: desk.ctx.signals.listen(
        queue.topic(id),
        (to) => onSignal(desk, pool, to),
        () => pool.waiters.size > 0,
      ),
      wake: new AbortController(),
      isServed: false,
      isSignalled: false,
      isLeftToUs: false,
      stagger: undefined,
      emptyAt: undefined,
    }
    desk.pools.set(id, pool)
    return pool
  }

  /** Something new has come; `to` is the process that it is left to, if it is left to one. */
  function onSignal(desk: Desk<W, Item>, pool: Pool<W, Item>, to: string) {
    pool.emptyAt = undefined
    if (to === '') {
      if (pool.waiters.size === 0) return
      pool.stagger ??= setTimeout(() => {
        pool.stagger = undefined
        look(desk, pool)
      }, Math.random() * STAGGER_MS)
    } else if (to === desk.ctx.signals.id) {
      pool.isSignalled = true
      pool.isLeftToUs = true
      if (pool.waiters.size === 0) tellOthers(desk, pool)
      look(desk, pool)
    }
  }

  /** Tells all processes of what this one was told of alone, and can't hand out. */
  function tellOthers({ ctx }: Desk<W, Item>, pool: Pool<W, Item>) {
    if (!pool.isLeftToUs) return
    pool.isLeftToUs = false
    ctx.signals.publish(ctx.db, queue.topic(pool.id))
  }

  /** Makes the loop of a pool look at the queue now, whatever it is doing. */
  function look(desk: Desk<W, Item>, pool: Pool<W, Item>) {
    pool.emptyAt = undefined
    pool.wake.abort()
    if (pool.isServed || pool.waiters.size === 0) return
    pool.isServed = true
    void serve(desk, pool)
  }

  /** Looks for all pools in which a claim waits, with the polls of the process. */
  function poll(desk: Desk<W, Item>) {
    let asked: Pool<W, Item>[] = []
    desk.ctx.polls.add<string[]>({
      ask() {
        const pools = [...desk.pools.values()]
        for (const pool of pools) if (isAbandoned(pool, performance.now())) forget(desk, pool)
        asked = pools.filter((pool) => pool.waiters.size > 0 && !pool.isServed)
        const ids = asked.map(({ id }) => id)
        return asked.length === 0 ? undefined : queue.poolsWithItems(desk.ctx, ids)
      },
      response(ids) {
        const [found, now] = [new Set(ids), performance.now()]
        for (const pool of asked) {
          if (found.has(pool.id)) look(desk, pool)
          else if (!pool.isServed) noteEmpty(pool, now)
        }
      },
      fail() {
        for (const pool of asked) look(desk, pool)
      },
    })
  }

  function forget(desk: Desk<W, Item>, pool: Pool<W, Item>) {
    clearTimeout(pool.stagger)
    pool.subscription[Symbol.dispose]()
    desk.pools.delete(pool.id)
  }

  /** Hands out what a pool has until its queue is empty or nobody waits. */
  async function serve(desk: Desk<W, Item>, pool: Pool<W, Item>) {
    const { ctx } = desk
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
        pool.isLeftToUs = false
        noteEmpty(pool, performance.now())
        break
      } else if (pool.waiters.size > 0) {
        tellOthers(desk, pool)
        await pause(retryMs, signal)
        retryMs = signal.aborted ? RETRY_MS : Math.min(retryMs * 2, LONGEST_RETRY_MS)
      }
    }
    // In the same step as the last look at the waiters, so that whoever comes next starts the loop again.
    pool.isServed = false
    tellOthers(desk, pool)
  }

  async function hasItems(ctx: Ctx, poolId: string) {
    const asked = sql<{ ids: string[] }>`select ${queue.poolsWithItems(ctx, [poolId])} as ids`.execute(ctx.db)
    const { rows } = await withTimeout(asked)
    return (rows[0]?.ids.length ?? 0) > 0
  }

  /** Hands out until nothing is left that the agents which wait here can take. */
  async function handOut(ctx: Ctx, pool: Pool<W, Item>): Promise<'empty' | 'blocked'> {
    const turns = new Turns(pool.waiters, queue.kindOf)
    for (;;) {
      if (!pool.isSignalled && !(await hasItems(ctx, pool.id))) return 'empty'
      pool.isSignalled = false
      const waiter = turns.next()
      if (!waiter) return 'blocked'
      const { wish } = waiter
      const item = await claim(ctx, pool, waiter)
      if (item === 'exited') {
        end(ctx, wish.agent.id)
        continue
      }
      if (!item) {
        const others = turns.isKnown ? [] : [...pool.waiters].map((other) => other.wish.agent.id)
        const preferred = others.length < 2 ? [] : await withTimeout(queue.listPreferredAgents(ctx, pool.id, others))
        turns.pass(waiter, preferred)
        continue
      }
      await give(ctx, pool, { item, waiter })
    }
  }

  /** Claims for a waiter. What comes after the claim was given up is handed out all the same. */
  async function claim(ctx: Ctx, pool: Pool<W, Item>, waiter: Waiter<W, Item>) {
    const claiming = queue.claim(ctx, waiter.wish)
    return withTimeout(claiming).catch((error: unknown) => {
      const late = claiming.then(async (item) => item && item !== 'exited' && give(ctx, pool, { item, waiter }))
      late.catch(() => {})
      throw error
    })
  }

  /** The claim may have ended in the meantime. Another claim of the same agent then gets the item, or it goes back. */
  async function give(ctx: Ctx, pool: Pool<W, Item>, { item, waiter }: { item: Item; waiter: Waiter<W, Item> }) {
    const isSame = (other: Waiter<W, Item>) => other.wish.agent.id === waiter.wish.agent.id
    const taker = pool.waiters.has(waiter) ? waiter : [...pool.waiters].find(isSame)
    if (taker) taker.give(item)
    else await queue.handBack(ctx, item, waiter.wish)
  }

  return { wait, end }
}
