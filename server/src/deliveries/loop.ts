import { withLogFields } from '@groundstate/agent/log-fields'
import { traced } from '@groundstate/agent/tracing/tracing'
import type { RawBuilder } from 'kysely'
import type { Ctx } from '../app.ts'
import type { Db } from '../db/db.ts'
import { POLL_MS } from '../polls.ts'
import { type Busy, type Claim, type ClaimOptions, type Connections, findTime } from './queue.ts'

/** Lease of a claimed request, in ms: other processes take over after it expires. */
const LEASE_MS = 10_000
const RENEW_MS = 3000
/** Maximum pause of an idle loop, in ms. Signals and polls end it early. */
const MAX_PAUSE_MS = 30_000
/** Claims of at least this size are repeated at once, since a claim reads only the first requests of each receiver. */
const FULL_CLAIM = 100
/** Delay of a loop after a failure, in ms. */
const RETRY_DELAY_MS = 1000

/** The receiver that a request holds a connection to. */
export type Receiver = Pick<Busy, 'receiverId' | 'organizationId'>

/** Requests of one kind, and how they are sent. */
export type Queue<Claimed extends Claim> = {
  /** For the log: `run task`. */
  name: string
  /** The signal that wakes the processes that send requests. */
  topic: string
  /** SQL expressions: when the first request is due, and when the next one after a time is. */
  firstDue: RawBuilder<Date | null>
  nextDue: (now: Date) => RawBuilder<Date | null>
  /** Leases due requests, each to one process, and loads everything required to send them. */
  claim: (ctx: Ctx, options: ClaimOptions) => Promise<Claimed[]>
  /** Renews leases that no other process has taken over; returns the ids of these. */
  renew: (db: Db, leases: { claims: readonly Claim[]; until: Date }) => Promise<string[]>
  /** The run of a request, and its trace. */
  runOf?: (claim: Claimed) => { id: string | null; traceparent?: string | null }
  /** Undefined for a request that needs no connection of this process. */
  receiverOf: (claim: Claimed) => Receiver | undefined
  /**
   * Sends a request once and records the attempt, unless another process has taken over the lease. Returns whether this may have made
   * another request due. No transaction is open during the request.
   */
  deliver: (ctx: Ctx, claim: Claimed, ends: Ends) => Promise<boolean>
}

/**
 * `shutdown`: the process stops. `lost`: another process has taken over the lease, since this one was suspended. `isLeased`: whether the lease
 * is valid; checked right before a request is sent, since a process learns late that it was suspended.
 */
export type Ends = { shutdown: AbortSignal; lost: AbortSignal; isLeased: () => boolean }

/** Delivers the requests of a queue until disposed. All state is in the database, so processes can run it concurrently. */
export function startDeliveries<Claimed extends Claim>(
  ctx: Ctx,
  queue: Queue<Claimed>,
  connections: Connections,
): AsyncDisposable {
  const abort = new AbortController()
  const done = sendUntil(ctx, queue, { connections, shutdown: abort.signal })
  return {
    async [Symbol.asyncDispose]() {
      abort.abort()
      await done
    },
  }
}

type Options = { connections: Connections; shutdown: AbortSignal }

async function sendUntil<Claimed extends Claim>(ctx: Ctx, queue: Queue<Claimed>, options: Options) {
  const { shutdown } = options
  using topic = ctx.signals.subscribe(queue.topic)
  await using sending = startSending(ctx, queue, options)
  using _ = wakeWhenDue(ctx, queue.firstDue, () => sending.freed.abort())
  while (!shutdown.aborted) {
    sending.freed = new AbortController()
    const timeoutMs = await claimDue(ctx, queue, sending).catch((error: unknown) => {
      ctx.log.error({ err: error }, `claiming ${queue.name} requests`)
      return RETRY_DELAY_MS
    })
    await topic.next({ timeoutMs, signal: AbortSignal.any([shutdown, sending.freed.signal]) })
  }
}

/** For tests: sends requests until none is due. */
export async function deliverDue<Claimed extends Claim>(ctx: Ctx, queue: Queue<Claimed>, options: Options) {
  await using sending = startSending(ctx, queue, options)
  while (!options.shutdown.aborted) {
    await claimDue(ctx, queue, sending)
    if (sending.inFlight.size === 0) return
    await Promise.all([...sending.inFlight.values()].map(({ sent }) => sent))
  }
}

/** Requests of this process in flight, by id; without `receiver` if they need no connection. */
type InFlight = Map<
  string,
  {
    attempt: number
    sent: Promise<unknown>
    receiver: Receiver | undefined
    lost: AbortController
    lease: { until: Date }
  }
>

/** `freed` aborts the pause when a contended connection ends, and when a request is or will soon be due. */
type Sending = Options & { inFlight: InFlight; freed: AbortController }

/** Renews the leases of requests in flight until it is disposed of, which waits for them. */
function startSending<Claimed extends Claim>(ctx: Ctx, queue: Queue<Claimed>, options: Options) {
  const inFlight: InFlight = new Map()
  async function renew() {
    const claims = [...inFlight].map(([id, { attempt }]) => ({ id, attempt }))
    if (claims.length === 0) return
    const until = leaseEnd(ctx)
    const kept = new Set(await queue.renew(ctx.db, { claims, until }))
    for (const { id, attempt } of claims) {
      const request = inFlight.get(id)
      if (request?.attempt !== attempt) continue
      if (kept.has(id)) request.lease.until = until
      else request.lost.abort()
    }
  }
  const renewal = setInterval(() => {
    renew().catch((error: unknown) => ctx.log.error({ err: error }, `renewing leases of ${queue.name} requests`))
  }, RENEW_MS)
  return {
    ...options,
    inFlight,
    freed: new AbortController(),
    async [Symbol.asyncDispose]() {
      await Promise.all([...inFlight.values()].map(({ sent }) => sent))
      clearInterval(renewal)
    },
  }
}

/** Claims due requests and starts sending them; returns the time to wait for more, in ms. */
async function claimDue<Claimed extends Claim>(ctx: Ctx, queue: Queue<Claimed>, sending: Sending) {
  const { inFlight, connections } = sending
  const now = ctx.now()
  const first = await findTime(ctx.db, queue.firstDue)
  if (!first || first > now) return untilDue(ctx, first)
  const leaseUntil = leaseEnd(ctx)
  const claims = await queue.claim(ctx, { now, leaseUntil, connections, busy: busyOf(inFlight) })
  for (const claim of claims) send(ctx, queue, { claim, sending, leaseUntil })
  if (claims.length >= FULL_CLAIM) return 0
  return untilDue(ctx, await findTime(ctx.db, queue.nextDue(now)))
}

function send<Claimed extends Claim>(
  ctx: Ctx,
  queue: Queue<Claimed>,
  { claim, sending, leaseUntil }: { claim: Claimed; sending: Sending; leaseUntil: Date },
) {
  const { inFlight, shutdown } = sending
  const receiver = queue.receiverOf(claim)
  const lost = new AbortController()
  const lease = { until: leaseUntil }
  const ends = { shutdown, lost: lost.signal, isLeased: () => ctx.now() < lease.until }
  const sent = deliverTraced(ctx, queue, { claim, ends })
    .then((hasMore) => hasMore && sending.freed.abort())
    .catch((error: unknown) => {
      // The request is claimed again once its lease expires.
      ctx.log.error({ err: error, delivery: claim.id }, `sending a ${queue.name} request`)
    })
    .finally(() => {
      if (receiver && isContended(sending, receiver)) sending.freed.abort()
      // A later attempt may have replaced this one after it lost its lease.
      if (inFlight.get(claim.id)?.sent === sent) inFlight.delete(claim.id)
    })
  inFlight.set(claim.id, { attempt: claim.attempt, sent, receiver, lost, lease })
}

async function deliverTraced<Claimed extends Claim>(
  ctx: Ctx,
  queue: Queue<Claimed>,
  { claim, ends }: { claim: Claimed; ends: Ends },
) {
  const run = queue.runOf?.(claim)
  const runId = run?.id ?? undefined
  const fields = { delivery: claim.id, ...(runId !== undefined && { run: runId }) }
  const attributes = { 'groundstate.run.id': runId, 'groundstate.attempt': claim.attempt }
  const options = { kind: 'client', parent: run?.traceparent ?? undefined, attributes } as const
  return withLogFields(fields, async () =>
    traced(`deliver ${queue.name}`, options, async () => queue.deliver(ctx, claim, ends)),
  )
}

/** Whether other requests may be waiting for the receiver's connection. */
function isContended({ inFlight, connections }: Sending, { receiverId, organizationId }: Receiver) {
  const busy = busyOf(inFlight)
  return (
    sum(busy) >= connections.all - connections.reserved ||
    sum(busy.filter((receiver) => receiver.organizationId === organizationId)) >= connections.perOrganization ||
    sum(busy.filter((receiver) => receiver.receiverId === receiverId)) >= connections.perReceiver
  )
}

function busyOf(inFlight: InFlight): Busy[] {
  const busy = new Map<string, Busy>()
  for (const { receiver } of inFlight.values()) {
    if (receiver) busy.set(receiver.receiverId, { ...receiver, count: (busy.get(receiver.receiverId)?.count ?? 0) + 1 })
  }
  return [...busy.values()]
}

function sum(busy: readonly Busy[]) {
  return busy.reduce((total, { count }) => total + count, 0)
}

type Deadlines = {
  name: string
  topic: string
  /** SQL expression: the first deadline. */
  first: RawBuilder<Date | null>
  /** Handles deadlines that have passed. */
  pass: (ctx: Ctx) => Promise<void>
}

/** Handles deadlines when they pass, until disposed. Apart from deliveries, since it may wait for locks. */
export function startDeadlines(ctx: Ctx, deadlines: Deadlines): AsyncDisposable {
  const abort = new AbortController()
  const done = passDeadlines(ctx, deadlines, abort.signal)
  return {
    async [Symbol.asyncDispose]() {
      abort.abort()
      await done
    },
  }
}

async function passDeadlines(ctx: Ctx, { name, topic, first, pass }: Deadlines, signal: AbortSignal) {
  using signals = ctx.signals.subscribe(topic)
  let due = new AbortController()
  using _ = wakeWhenDue(ctx, first, () => due.abort())
  const passDue = async () => {
    const deadline = await findTime(ctx.db, first)
    if (!deadline || deadline > ctx.now()) return untilDue(ctx, deadline)
    await pass(ctx)
    return untilDue(ctx, await findTime(ctx.db, first))
  }
  while (!signal.aborted) {
    due = new AbortController()
    const timeoutMs = await passDue().catch((error: unknown) => {
      ctx.log.error({ err: error }, `deadlines of ${name} requests`)
      return RETRY_DELAY_MS
    })
    await signals.next({ timeoutMs, signal: AbortSignal.any([signal, due.signal]) })
  }
}

/** Ends a pause when the poll finds that the first row is due, or will be before the next poll. */
function wakeWhenDue(ctx: Ctx, first: RawBuilder<Date | null>, wake: () => void) {
  return ctx.polls.add({
    query: () => first,
    onValue: (due) => {
      if (due && due.getTime() < ctx.now().getTime() + POLL_MS) wake()
    },
  })
}

/** Time until `due`, bounded, in ms. */
function untilDue(ctx: Ctx, due: Date | undefined) {
  return due ? Math.min(MAX_PAUSE_MS, Math.max(10, due.getTime() - ctx.now().getTime())) : MAX_PAUSE_MS
}

function leaseEnd(ctx: Ctx) {
  return new Date(ctx.now().getTime() + LEASE_MS)
}
