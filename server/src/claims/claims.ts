import { setTimeout as delay } from 'node:timers/promises'
import { detached } from '@groundstate/agent/tracing/tracing'
import { type RawBuilder, sql } from 'kysely'
import type { Ctx } from '../app.ts'
import { withTimeout } from '../db/db.ts'
import { unavailable } from '../errors.ts'
import { claimsWaiting } from '../metrics.ts'
import { POLL_MS } from '../polls.ts'
import type { Signals } from '../signals.ts'
import {
  type ClaimRequest,
  createScheduler,
  isAbandoned,
  markEmpty,
  type Pool,
  POOL_TTL_MS,
  type Waiter,
} from './pool.ts'

/** A queue that the agents of a pool claim from. */
export type ClaimQueue<W extends ClaimRequest, Item> = {
  /** Noun of an item in messages: `job` or `request`. */
  name: string
  /** Topic of the signal that a pool has a new item. */
  topic: (poolId: string) => string
  /** SQL of the ids of those pools that have an item that may be claimed. */
  poolsWithItems: (ctx: Ctx, poolIds: readonly string[]) => RawBuilder<string[]>
  /** Takes the next item for an agent without waiting; `exited` when the agent has exited in the meantime. */
  claim: (ctx: Ctx, request: W) => Promise<Item | 'exited' | undefined>
  /** Requeues an item that its agent will not receive. */
  requeue: (ctx: Ctx, item: Item, request: W) => Promise<void>
  /** Key of a request: requests with the same key can take the same items. */
  kindOf: (request: W) => string
  /** Those of the agents for which an item of the pool is reserved. */
  listPreferredAgents: (ctx: Ctx, poolId: string, agentIds: readonly string[]) => Promise<string[]>
}

/** Topic of the signal that ends an agent's waiting claims on every replica. A live agent claims again. */
export function claimsTopic(agentId: string) {
  return `agent-claims:${agentId}`
}

/** One per process and queue; tests run several processes in one. */
type Dispatcher<W extends ClaimRequest, Item> = { ctx: Ctx; pools: Map<string, Pool<W, Item>> }

/**
 * Delay before the queue is checked again for items that could not be claimed, in ms: a locked workspace, a reservation for another
 * agent, a limit. It doubles while nothing changes.
 */
const RETRY_MS = 50
const MAX_RETRY_MS = 1000
/** Maximum jitter of processes that were notified of the same item, in ms: usually the first one gets it. */
const STAGGER_MS = 10
/** Extra time that an expired claim waits for its last check of the queue, in ms. */
const LAST_CHECK_MS = 5000

/**
 * Claims that wait in this process. One loop serves all claims of a pool, so a new item costs one check of the queue and not one per waiting
 * agent. One polling query serves all pools (`polls.ts`), which makes idle agents nearly free.
 *
 * A new item wakes one process: the one that queued it, if a claim waits there (`Signals.publishToOne`). It notifies the others when it
 * cannot hand the item out.
 */
export function createClaims<W extends ClaimRequest, Item>(queue: ClaimQueue<W, Item>) {
  const dispatchers = new WeakMap<Signals, Dispatcher<W, Item>>()

  /** The next item for the agent; undefined after `waitMs` or when `signal` aborts. Throws `unavailable` if the queue cannot be read. */
  async function wait(ctx: Ctx, request: W, { waitMs, signal }: { waitMs: number; signal: AbortSignal }) {
    if (signal.aborted) return undefined
    const pool = poolOf(dispatcherOf(ctx), request.agent.agent_pool_id)
    const item = await new Promise<Item | undefined>((resolve, reject) => {
      const leave = () => {
        clearTimeout(timer)
        signal.removeEventListener('abort', onAbort)
        ending[Symbol.dispose]()
        if (pool.waiters.delete(waiter)) claimsWaiting.dec({ queue: queue.name })
      }
      const give = (item: Item | undefined) => {
        leave()
        resolve(item)
      }
      const fail = () => {
        leave()
        reject(unavailable(`the ${queue.name} queue cannot be read at the moment`))
      }
      const onAbort = () => give(undefined)
      const onTimeout = () => {
        waiter.isExpired = true
        if (waiter.isChecked) return give(undefined)
        timer = setTimeout(fail, LAST_CHECK_MS)
        dispatch(pool)
      }
      const waiter: Waiter<W, Item> = { request, give, fail, isChecked: false, isExpired: false }
      let timer = setTimeout(onTimeout, jitteredPollMs(waitMs, request.agent.id))
      signal.addEventListener('abort', onAbort, { once: true })
      const ending = ctx.signals.listen(claimsTopic(request.agent.id), () => give(undefined))
      pool.waiters.add(waiter)
      claimsWaiting.inc({ queue: queue.name })
      // A queue that was just empty is still empty, or its signal is on the way. The next poll covers a lost signal.
      const isEmpty = pool.emptyAt !== undefined && performance.now() - pool.emptyAt < POOL_TTL_MS
      if (!isEmpty || waitMs < POLL_MS) dispatch(pool)
    })
    if (item === undefined || !signal.aborted) return item
    // The claim was aborted when the item arrived.
    await queue.requeue(ctx, item, request)
    return undefined
  }

  /** Ends the agent's claims that wait in this process. */
  function end(ctx: Ctx, agentId: string) {
    for (const pool of dispatchers.get(ctx.signals)?.pools.values() ?? []) {
      for (const waiter of pool.waiters) if (waiter.request.agent.id === agentId) waiter.give(undefined)
    }
  }

  function dispatcherOf(ctx: Ctx): Dispatcher<W, Item> {
    const existing = dispatchers.get(ctx.signals)
    if (existing) return existing
    const dispatcher: Dispatcher<W, Item> = { ctx, pools: new Map() }
    dispatchers.set(ctx.signals, dispatcher)
    poll(dispatcher)
    return dispatcher
  }

  function poolOf({ ctx, pools }: Dispatcher<W, Item>, id: string): Pool<W, Item> {
    const existing = pools.get(id)
    if (existing) return existing
    const pool: Pool<W, Item> = {
      id,
      ctx,
      waiters: new Set(),
      subscription: ctx.signals.listen(
        queue.topic(id),
        (processId) => onSignal(pool, processId),
        () => pool.waiters.size > 0,
      ),
      wake: new AbortController(),
      isServed: false,
      isSignalled: false,
      isExclusive: false,
      stagger: undefined,
      emptyAt: undefined,
    }
    pools.set(id, pool)
    return pool
  }

  /** Handles the signal of a new item; `processId` is the only process notified, or empty. */
  function onSignal(pool: Pool<W, Item>, processId: string) {
    pool.emptyAt = undefined
    if (processId === '') {
      if (pool.waiters.size === 0) return
      pool.stagger ??= setTimeout(() => {
        pool.stagger = undefined
        dispatch(pool)
      }, Math.random() * STAGGER_MS)
    } else if (processId === pool.ctx.signals.id) {
      pool.isSignalled = true
      pool.isExclusive = true
      if (pool.waiters.size === 0) notifyOthers(pool)
      dispatch(pool)
    }
  }

  /** Notifies all processes of an item that only this one knows of and cannot hand out. */
  function notifyOthers(pool: Pool<W, Item>) {
    if (!pool.isExclusive) return
    pool.isExclusive = false
    pool.ctx.signals.publish(pool.ctx.db, queue.topic(pool.id))
  }

  /** Makes the loop of a pool check the queue now. */
  function dispatch(pool: Pool<W, Item>) {
    pool.emptyAt = undefined
    pool.wake.abort()
    if (pool.isServed || pool.waiters.size === 0) return
    pool.isServed = true
    void detached(async () => serve(pool))
  }

  /** Checks all pools with waiting claims in the polls of the process. */
  function poll({ ctx, pools }: Dispatcher<W, Item>) {
    let polled: Pool<W, Item>[] = []
    ctx.polls.add<string[]>({
      query() {
        for (const pool of pools.values()) {
          if (!isAbandoned(pool, performance.now())) continue
          clearTimeout(pool.stagger)
          pool.subscription[Symbol.dispose]()
          pools.delete(pool.id)
        }
        polled = [...pools.values()].filter((pool) => pool.waiters.size > 0 && !pool.isServed)
        const ids = polled.map(({ id }) => id)
        return ids.length === 0 ? undefined : queue.poolsWithItems(ctx, ids)
      },
      onValue(ids) {
        const withItems = new Set(ids)
        for (const pool of polled) {
          if (withItems.has(pool.id)) dispatch(pool)
          else if (!pool.isServed) markEmpty(pool)
        }
      },
      onError() {
        for (const pool of polled) dispatch(pool)
      },
    })
  }

  /** Hands out the items of a pool until its queue is empty or no claim waits. */
  async function serve(pool: Pool<W, Item>) {
    let retryMs = RETRY_MS
    while (pool.waiters.size > 0) {
      pool.wake = new AbortController()
      const { signal } = pool.wake
      const outcome = await handOut(pool).catch((error: unknown) => {
        pool.ctx.log.error({ err: error }, `claiming from the ${queue.name} queue`)
        for (const waiter of pool.waiters) if (waiter.isExpired) waiter.fail()
        return 'blocked' as const
      })
      if (signal.aborted) retryMs = RETRY_MS
      else if (outcome === 'empty') {
        pool.isExclusive = false
        markEmpty(pool)
        break
      } else if (pool.waiters.size > 0) {
        notifyOthers(pool)
        await delay(retryMs, undefined, { signal, ref: false }).catch(() => {})
        retryMs = signal.aborted ? RETRY_MS : Math.min(retryMs * 2, MAX_RETRY_MS)
      }
    }
    // In the same tick as the last check of the waiters, so that the next claim starts the loop again.
    pool.isServed = false
    notifyOthers(pool)
  }

  async function hasItems({ ctx, id }: Pool<W, Item>) {
    const query = sql<{ ids: string[] }>`select ${queue.poolsWithItems(ctx, [id])} as ids`
    const { rows } = await withTimeout(query.execute(ctx.db))
    return (rows[0]?.ids.length ?? 0) > 0
  }

  /** Hands out items until none is left that the waiting agents can take. */
  async function handOut(pool: Pool<W, Item>): Promise<'empty' | 'blocked'> {
    const { ctx, waiters } = pool
    const scheduler = createScheduler(waiters, queue.kindOf)
    for (;;) {
      if (!pool.isSignalled && !(await hasItems(pool))) return 'empty'
      pool.isSignalled = false
      const waiter = scheduler.next()
      if (!waiter) return 'blocked'
      const item = await claim(pool, waiter)
      if (item === 'exited') end(ctx, waiter.request.agent.id)
      else if (item) await give(pool, waiter, item)
      else {
        const agents = scheduler.knowsPreferred() ? [] : [...waiters].map(({ request }) => request.agent.id)
        const preferred = agents.length < 2 ? [] : await withTimeout(queue.listPreferredAgents(ctx, pool.id, agents))
        scheduler.pass(waiter, preferred)
      }
    }
  }

  /** Claims for a waiter. An item that arrives after the timeout is handed out as well. */
  async function claim(pool: Pool<W, Item>, waiter: Waiter<W, Item>) {
    const claiming = queue.claim(pool.ctx, waiter.request)
    return withTimeout(claiming).catch((error: unknown) => {
      const late = claiming.then(async (item) => item && item !== 'exited' && give(pool, waiter, item))
      late.catch(() => {})
      throw error
    })
  }

  /** Gives the item to the waiter, or to another claim of its agent if the waiter has left; without one, requeues it. */
  async function give(pool: Pool<W, Item>, waiter: Waiter<W, Item>, item: Item) {
    const { agent } = waiter.request
    const taker = pool.waiters.has(waiter)
      ? waiter
      : [...pool.waiters].find(({ request }) => request.agent.id === agent.id)
    if (taker) taker.give(item)
    else await queue.requeue(pool.ctx, item, waiter.request)
  }

  return { wait, end }
}

/**
 * Time to hold a claim, in ms. Long polls end a little early: those of one agent together, so that its next claims share statements, and those
 * of different agents a few seconds apart.
 */
function jitteredPollMs(waitMs: number, agentId: string) {
  if (waitMs < POOL_TTL_MS) return waitMs
  const steps = Math.floor(waitMs / 2 / POLL_MS)
  const step = Buffer.from(agentId).reduce((sum, byte) => (sum * 31 + byte) % steps, 0)
  return waitMs - ((performance.now() + waitMs + step * POLL_MS) % (steps * POLL_MS))
}
