import type { AgentJob } from '@groundstate/contract/agent'
import type { Ctx } from '../../../app.ts'
import { unavailable } from '../../../errors.ts'
import type { Signals } from '../../../signals.ts'
import { listPoolsWithJobs, listPreferredAgents, type Wish } from './claim-store.ts'
import { claimJob } from './claim.ts'
import { claimsTopic } from './claims-topic.ts'
import { releaseJob } from './release.ts'

/*
 * Claims that wait in this process. One loop serves all claims of a pool, so that a new job costs one look at the queue and not
 * one for every waiting agent. One loop for the process polls for all pools at once, so that idle agents cost next to nothing.
 */

type Waiter = Wish & {
  give: (job: AgentJob | undefined) => void
  /** Answers that the queue can't be read. */
  refuse: () => void
  /** The queue was found to have nothing for this agent. A claim is not answered before that, however short it may wait. */
  hasLooked: boolean
  expired: boolean
}

type Pool = {
  id: string
  waiters: Set<Waiter>
  subscription: Disposable
  /** Ends the pause of the pool's loop. */
  wake: AbortController
  isServed: boolean
  /** A job was queued: whether there is one need not be asked. */
  isSignalled: boolean
  /** When the queue was last found empty, in ms of the process; undefined once there may be a job. */
  emptyAt: number | undefined
}

type Desk = { ctx: Ctx; pools: Map<string, Pool>; isPolling: boolean }

const desks = new WeakMap<Signals, Desk>()

/** A missed signal delays a claim by at most this long, in ms. */
const POLL_MS = 2000
/** An agent whose claim has ended asks again at once: what is known of its pool is kept for as long, in ms. */
const KEPT_MS = 2 * POLL_MS
/**
 * After this long, in ms, the queue is looked at again for a job that could not be taken: its workspace was locked, it is
 * reserved for another agent, or a limit holds it back. The pause doubles as long as nothing changes.
 */
const RETRY_MS = 50
const LONGEST_RETRY_MS = 1000
/** A claim that has expired waits this long, in ms, for the look at the queue that it still needs. */
const LAST_LOOK_MS = 5000

/**
 * The next job for the agent, or undefined when none came within `waitMs` or before the abort. A claim whose `signal` has
 * aborted gets no job. Throws `unavailable` when the queue could not be read until then.
 */
export async function waitForJob(
  ctx: Ctx,
  wish: Wish,
  { waitMs, signal }: { waitMs: number; signal: AbortSignal },
): Promise<AgentJob | undefined> {
  if (signal.aborted) return undefined
  const desk = deskOf(ctx)
  const pool = poolOf(desk, wish.agent.agent_pool_id)
  return new Promise((resolve, reject) => {
    const leave = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', onAbort)
      ending[Symbol.dispose]()
      pool.waiters.delete(waiter)
    }
    const end = (job: AgentJob | undefined) => {
      leave()
      resolve(job)
    }
    const refuse = () => {
      leave()
      reject(unavailable('the queue of jobs can not be read now'))
    }
    const onAbort = () => end(undefined)
    const onTimeout = () => {
      waiter.expired = true
      if (waiter.hasLooked) return end(undefined)
      timer = setTimeout(refuse, LAST_LOOK_MS)
      look(desk, pool)
    }
    const waiter: Waiter = { ...wish, give: end, refuse, hasLooked: false, expired: false }
    let timer = setTimeout(onTimeout, heldMs(waitMs))
    signal.addEventListener('abort', onAbort, { once: true })
    const ending = ctx.signals.listen(claimsTopic(wish.agent.id), () => end(undefined))
    pool.waiters.add(waiter)
    // A queue that was empty a moment ago is empty still, or its signal is on the way. The next poll looks for a lost one.
    const isEmpty = pool.emptyAt !== undefined && performance.now() - pool.emptyAt < KEPT_MS
    if (!isEmpty || waitMs < POLL_MS) look(desk, pool)
    void poll(desk)
  })
}

/**
 * How long a claim is held, in ms. Long ones end together, a little early: agents that ask again at the same moment share the
 * statements that this takes.
 */
function heldMs(waitMs: number) {
  return waitMs < KEPT_MS ? waitMs : waitMs - ((performance.now() + waitMs) % POLL_MS)
}

/** Answers the waiting claims of an agent that takes no more jobs. */
export function endClaims(ctx: Ctx, agentId: string) {
  for (const pool of desks.get(ctx.signals)?.pools.values() ?? []) {
    for (const waiter of pool.waiters) if (waiter.agent.id === agentId) waiter.give(undefined)
  }
}

function deskOf(ctx: Ctx): Desk {
  const desk = desks.get(ctx.signals) ?? { ctx, pools: new Map(), isPolling: false }
  desks.set(ctx.signals, desk)
  return desk
}

function poolOf(desk: Desk, id: string): Pool {
  const known = desk.pools.get(id)
  if (known) return known
  const pool: Pool = {
    id,
    waiters: new Set(),
    subscription: desk.ctx.signals.listen(`pool:${id}`, () => {
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
function look(desk: Desk, pool: Pool) {
  pool.emptyAt = undefined
  pool.wake.abort()
  if (pool.isServed || pool.waiters.size === 0) return
  pool.isServed = true
  void serve(desk, pool)
}

/** Looks for jobs for all pools in one statement, every few seconds as long as a claim waits. */
async function poll(desk: Desk) {
  if (desk.isPolling) return
  desk.isPolling = true
  while ([...desk.pools.values()].some((pool) => pool.waiters.size > 0)) {
    await pause(POLL_MS)
    const asked = [...desk.pools.values()].filter((pool) => pool.waiters.size > 0 && !pool.isServed)
    for (const pool of desk.pools.values()) if (isAbandoned(pool, performance.now())) forget(desk, pool)
    if (asked.length === 0) continue
    const ids = asked.map(({ id }) => id)
    const found = new Set(
      await listPoolsWithJobs(desk.ctx.db, ids).catch((error: unknown) => {
        desk.ctx.log.error({ err: error }, 'looking for queued jobs')
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

function isAbandoned({ waiters, isServed, emptyAt }: Pool, now: number) {
  return waiters.size === 0 && !isServed && (emptyAt === undefined || now - emptyAt > KEPT_MS)
}

function forget(desk: Desk, pool: Pool) {
  pool.subscription[Symbol.dispose]()
  desk.pools.delete(pool.id)
}

/** Hands out the jobs of a pool until its queue is empty or nobody waits for them. */
async function serve({ ctx }: Desk, pool: Pool) {
  let retryMs = RETRY_MS
  while (pool.waiters.size > 0) {
    pool.wake = new AbortController()
    const { signal } = pool.wake
    const outcome = await handOutJobs(ctx, pool).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'claiming a job')
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

/** Hands out jobs until none is left that the agents that wait here can take. */
async function handOutJobs(ctx: Ctx, pool: Pool): Promise<'empty' | 'blocked'> {
  const turns = new Turns(pool)
  for (;;) {
    if (!pool.isSignalled && (await listPoolsWithJobs(ctx.db, [pool.id])).length === 0) return 'empty'
    pool.isSignalled = false
    const waiter = turns.next()
    if (!waiter) return 'blocked'
    const job = await claimJob(ctx, waiter)
    if (job === 'exited') {
      endClaims(ctx, waiter.agent.id)
      continue
    }
    if (!job) {
      const others = turns.isKnown ? [] : [...pool.waiters].map(({ agent }) => agent.id)
      turns.pass(waiter, others.length < 2 ? [] : await listPreferredAgents(ctx.db, pool.id, others))
      continue
    }
    // The claim may have ended in the meantime. Another claim of the same agent then gets the job, or the job goes back.
    const taker = pool.waiters.has(waiter)
      ? waiter
      : [...pool.waiters].find(({ agent }) => agent.id === waiter.agent.id)
    if (taker) taker.give(job)
    else await handBack(ctx, job)
  }
}

/**
 * Whose turn it is to look at the queue. Where one agent has found nothing, others that take the same kinds of jobs find
 * nothing either, except an agent that a job is reserved for.
 */
class Turns {
  readonly pool: Pool
  readonly passedKinds = new Set<string>()
  readonly passedAgents = new Set<string>()
  preferred: ReadonlySet<string> | undefined

  constructor(pool: Pool) {
    this.pool = pool
  }

  get isKnown() {
    return this.preferred !== undefined
  }

  next(): Waiter | undefined {
    for (const waiter of this.pool.waiters) {
      if (this.passedAgents.has(waiter.agent.id)) continue
      if (!this.passedKinds.has(kindsOf(waiter)) || this.preferred?.has(waiter.agent.id)) return waiter
    }
    return undefined
  }

  /** The waiter has found nothing. */
  pass(waiter: Waiter, preferred: readonly string[]) {
    this.preferred ??= new Set(preferred)
    this.passedKinds.add(kindsOf(waiter))
    this.passedAgents.add(waiter.agent.id)
    for (const idle of this.pool.waiters) {
      const isPassed = this.passedKinds.has(kindsOf(idle)) && !this.preferred.has(idle.agent.id)
      if (isPassed || this.passedAgents.has(idle.agent.id)) noteLooked(idle)
    }
  }
}

function kindsOf({ accepts }: Waiter) {
  return accepts.toSorted().join(' ')
}

function noteEmpty(pool: Pool, now: number) {
  pool.emptyAt = now
  for (const idle of pool.waiters) noteLooked(idle)
}

function noteLooked(waiter: Waiter) {
  waiter.hasLooked = true
  if (waiter.expired) waiter.give(undefined)
}

async function handBack(ctx: Ctx, job: AgentJob) {
  await releaseJob(ctx, { id: job.id, run_id: job.runId, workspace_id: job.workspaceId })
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
