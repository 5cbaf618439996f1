import { type RawBuilder, sql } from 'kysely'
import type { Ctx } from '../app.ts'
import { unavailable } from '../errors.ts'
import { POLL_MS } from '../polls.ts'
import type { Signals } from '../signals.ts'
import { withTimeout } from '../silence.ts'
import { isAbandoned, POOL_TTL_MS, noteEmpty, type Pool, type Waiter } from './pools.ts'
import { ClaimScheduler, type ClaimRequest } from './scheduler.ts'
import { jitteredPollMs, pause } from './waits.ts'

/** A queue that the agents of a pool claim from. */
export type ClaimQueue<W extends ClaimRequest, Item> = {
  /** What the queue holds, for messages: `job` or `request`. */
  name: string
  /** Topic of the signal that a pool has a new item. */
  topic: (poolId: string) => string
  /** SQL of the ids of those pools that have an item within the limits. */
  poolsWithItems: (ctx: Ctx, poolIds: readonly string[]) => RawBuilder<string[]>
  /** Takes the next item for an agent without waiting; `exited` when the agent has exited in the meantime. */
  claim: (ctx: Ctx, request: W) => Promise<Item | 'exited' | undefined>
  /** Requeues an item that its agent will not receive. */
  requeue: (ctx: Ctx, item: Item, request: W) => Promise<void>
  /** Key of a request: requests with the same key can take the same items. */
  kindOf: (request: W) => string
  /** The given agents for which an item of the pool is reserved. */
  listPreferredAgents: (ctx: Ctx, poolId: string, agentIds: readonly string[]) => Promise<string[]>
}

export type Claims<W extends ClaimRequest, Item> = {
  /**
   * Resolves with the next item for the agent, or undefined when none came within `waitMs` or before `signal` aborted. Throws
   * `unavailable` when the queue could not be read in that time.
   */
  wait: (ctx: Ctx, request: W, options: { waitMs: number; signal: AbortSignal }) => Promise<Item | undefined>
  /** Ends the agent's claims that wait in this process. */
  end: (ctx: Ctx, agentId: string) => void
}

/** Topic of the signal that ends an agent's waiting claims on every replica. A live agent claims again. */
export function claimsTopic(agentId: string) {
  return `agent-claims:${agentId}`
}

type Dispatcher<W extends ClaimRequest, Item> = { ctx: Ctx; pools: Map<string, Pool<W, Item>> }

/**
 * Delay before the queue is checked again for items that could not be taken, in ms: a locked workspace, a reservation for
 * another agent, a limit. It doubles while nothing changes.
 */
const RETRY_MS = 50
const MAX_RETRY_MS = 1000
/** Processes notified of the same item check the queue at random moments within this time, in ms: usually the first takes it. */
const STAGGER_MS = 10
/** Extra time that an expired claim waits for its last check of the queue, in ms. */
const LAST_CHECK_MS = 5000

/**
 * Claims that wait in this process. One loop serves all claims of a pool, so that a new item costs one check of the queue and
 * not one per waiting agent. The process polls for all pools at once (`polls.ts`), which makes idle agents nearly free.
 *
 * A new item wakes one process: the one that queued it, if a claim waits there (`Signals.publishToOne`). That process notifies
 * the others when it cannot hand the item out.
 */
export function createClaims<W extends ClaimRequest, Item>(queue: ClaimQueue<W, Item>): Claims<W, Item> {
  const dispatchers = new WeakMap<Signals, Dispatcher<W, Item>>()

  async function wait(ctx: Ctx, request: W, { waitMs, signal }: { waitMs: number; signal: AbortSignal }) {
    if (signal.aborted) return undefined
    const dispatcher = dispatcherOf(ctx)
    const pool = poolOf(dispatcher, request.agent.agent_pool_id)
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
        reject(unavailable(`the ${queue.name} queue cannot be read at the moment`))
      }
      const onAbort = () => give(undefined)
      const onTimeout = () => {
        waiter.expired = true
        if (waiter.isChecked) return give(undefined)
        timer = setTimeout(refuse, LAST_CHECK_MS)
        dispatch(dispatcher, pool)
      }
      const waiter: Waiter<W, Item> = { request, give, refuse, isChecked: false, expired: false }
      let timer = setTimeout(onTimeout, jitteredPollMs(waitMs, request.agent.id))
      signal.addEventListener('abort', onAbort, { once: true })
      const ending = ctx.signals.listen(claimsTopic(request.agent.id), () => give(undefined))
      pool.waiters.add(waiter)
      // A queue that was just empty is still empty, or its signal is on the way. The next poll covers a lost signal.
      const isEmpty = pool.emptyAt !== undefined && performance.now() - pool.emptyAt < POOL_TTL_MS
      if (!isEmpty || waitMs < POLL_MS) dispatch(dispatcher, pool)
    })
    if (item === undefined || !signal.aborted) return item
    // The claim was aborted when the item arrived.
    await queue.requeue(ctx, item, request)
    return undefined
  }

  function end(ctx: Ctx, agentId: string) {
    for (const pool of dispatchers.get(ctx.signals)?.pools.values() ?? []) {
      for (const waiter of pool.waiters) if (waiter.request.agent.id === agentId) waiter.give(undefined)
    }
  }

  function dispatcherOf(ctx: Ctx): Dispatcher<W, Item> {
    const known = dispatchers.get(ctx.signals)
    if (known) return known
    const dispatcher: Dispatcher<W, Item> = { ctx, pools: new Map() }
    dispatchers.set(ctx.signals, dispatcher)
    poll(dispatcher)
    return dispatcher
  }

  function poolOf(dispatcher: Dispatcher<W, Item>, id: string): Pool<W, Item> {
    const known = dispatcher.pools.get(id)
    if (known) return known
    const pool: Pool<W, Item> = {
      id,
      waiters: new Set(),
      subscription: dispatcher.ctx.signals.listen(
        queue.topic(id),
        (to) => onSignal(dispatcher, pool, to),
        () => pool.waiters.size > 0,
      ),
      wake: new AbortController(),
      isServed: false,
      isSignalled: false,
      isExclusive: false,
      stagger: undefined,
      emptyAt: undefined,
    }
    dispatcher.pools.set(id, pool)
    return pool
  }

  /** Handles the signal of a new item; `to` is the id of the only process notified, or empty. */
  function onSignal(dispatcher: Dispatcher<W, Item>, pool: Pool<W, Item>, to: string) {
    pool.emptyAt = undefined
    if (to === '') {
      if (pool.waiters.size === 0) return
      pool.stagger ??= setTimeout(() => {
        pool.stagger = undefined
        dispatch(dispatcher, pool)
      }, Math.random() * STAGGER_MS)
    } else if (to === dispatcher.ctx.signals.id) {
      pool.isSignalled = true
      pool.isExclusive = true
      if (pool.waiters.size === 0) notifyOthers(dispatcher, pool)
      dispatch(dispatcher, pool)
    }
  }

  /** Notifies all processes of an item that only this one knows of and cannot hand out. */
  function notifyOthers({ ctx }: Dispatcher<W, Item>, pool: Pool<W, Item>) {
    if (!pool.isExclusive) return
    pool.isExclusive = false
    ctx.signals.publish(ctx.db, queue.topic(pool.id))
  }

  /** Makes the loop of a pool check the queue now. */
  function dispatch(dispatcher: Dispatcher<W, Item>, pool: Pool<W, Item>) {
    pool.emptyAt = undefined
    pool.wake.abort()
    if (pool.isServed || pool.waiters.size === 0) return
    pool.isServed = true
    void serve(dispatcher, pool)
  }

  /** Checks all pools with waiting claims, as part of the polls of the process. */
  function poll(dispatcher: Dispatcher<W, Item>) {
    let asked: Pool<W, Item>[] = []
    dispatcher.ctx.polls.add<string[]>({
      ask() {
        const pools = [...dispatcher.pools.values()]
        for (const pool of pools) if (isAbandoned(pool, performance.now())) forget(dispatcher, pool)
        asked = pools.filter((pool) => pool.waiters.size > 0 && !pool.isServed)
        const ids = asked.map(({ id }) => id)
        return asked.length === 0 ? undefined : queue.poolsWithItems(dispatcher.ctx, ids)
      },
      response(ids) {
        const [found, now] = [new Set(ids), performance.now()]
        for (const pool of asked) {
          if (found.has(pool.id)) dispatch(dispatcher, pool)
          else if (!pool.isServed) noteEmpty(pool, now)
        }
      },
      fail() {
        for (const pool of asked) dispatch(dispatcher, pool)
      },
    })
  }

  function forget(dispatcher: Dispatcher<W, Item>, pool: Pool<W, Item>) {
    clearTimeout(pool.stagger)
    pool.subscription[Symbol.dispose]()
    dispatcher.pools.delete(pool.id)
  }

  /** Hands out the items of a pool until its queue is empty or no claim waits. */
  async function serve(dispatcher: Dispatcher<W, Item>, pool: Pool<W, Item>) {
    const { ctx } = dispatcher
    let retryMs = RETRY_MS
    while (pool.waiters.size > 0) {
      pool.wake = new AbortController()
      const { signal } = pool.wake
      const outcome = await handOut(ctx, pool).catch((error: unknown) => {
        ctx.log.error({ err: error }, `claiming from the ${queue.name} queue`)
        for (const waiter of pool.waiters) if (waiter.expired) waiter.refuse()
        return 'blocked' as const
      })
      if (signal.aborted) retryMs = RETRY_MS
      else if (outcome === 'empty') {
        pool.isExclusive = false
        noteEmpty(pool, performance.now())
        break
      } else if (pool.waiters.size > 0) {
        notifyOthers(dispatcher, pool)
        await pause(retryMs, signal)
        retryMs = signal.aborted ? RETRY_MS : Math.min(retryMs * 2, MAX_RETRY_MS)
      }
    }
    // In the same tick as the last check of the waiters, so that the next claim starts the loop again.
    pool.isServed = false
    notifyOthers(dispatcher, pool)
  }

  async function hasItems(ctx: Ctx, poolId: string) {
    const asked = sql<{ ids: string[] }>`select ${queue.poolsWithItems(ctx, [poolId])} as ids`.execute(ctx.db)
    const { rows } = await withTimeout(asked)
    return (rows[0]?.ids.length ?? 0) > 0
  }

  /** Hands out items until none is left that the waiting agents can take. */
  async function handOut(ctx: Ctx, pool: Pool<W, Item>): Promise<'empty' | 'blocked'> {
    const scheduler = new ClaimScheduler(pool.waiters, queue.kindOf)
    for (;;) {
      if (!pool.isSignalled && !(await hasItems(ctx, pool.id))) return 'empty'
      pool.isSignalled = false
      const waiter = scheduler.next()
      if (!waiter) return 'blocked'
      const { request } = waiter
      const item = await claim(ctx, pool, waiter)
      if (item === 'exited') {
        end(ctx, request.agent.id)
        continue
      }
      if (!item) {
        const others = scheduler.isKnown ? [] : [...pool.waiters].map((other) => other.request.agent.id)
        const preferred = others.length < 2 ? [] : await withTimeout(queue.listPreferredAgents(ctx, pool.id, others))
        scheduler.pass(waiter, preferred)
        continue
      }
      await give(ctx, pool, { item, waiter })
    }
  }

  /** Claims for a waiter. An item that arrives after the timeout is handed out as well. */
  async function claim(ctx: Ctx, pool: Pool<W, Item>, waiter: Waiter<W, Item>) {
    const claiming = queue.claim(ctx, waiter.request)
    return withTimeout(claiming).catch((error: unknown) => {
      const late = claiming.then(async (item) => item && item !== 'exited' && give(ctx, pool, { item, waiter }))
      late.catch(() => {})
      throw error
    })
  }

  /** Gives the item to the waiter; to another claim of the same agent if that one has ended, or else requeues it. */
  async function give(ctx: Ctx, pool: Pool<W, Item>, { item, waiter }: { item: Item; waiter: Waiter<W, Item> }) {
    const isSame = (other: Waiter<W, Item>) => other.request.agent.id === waiter.request.agent.id
    const taker = pool.waiters.has(waiter) ? waiter : [...pool.waiters].find(isSame)
    if (taker) taker.give(item)
    else await queue.requeue(ctx, item, waiter.request)
  }

  return { wait, end }
}
