import type { RawBuilder } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { POLL_MS } from '../../../polls.ts'
import { endOverdueResults } from './deadlines.ts'
import { deliver } from './deliver.ts'
import { type Busy, type ClaimedRequest, type Connections, claimDeliveries, renewLeases } from './deliveries-store.ts'
import { TOPIC, resultNotice } from './events.ts'
import { FIRST_DEADLINE, FIRST_DELIVERY, findFirst, findNextDelivery } from './store.ts'

/** Lease of a claimed request, in ms: other processes take over after it expires. */
const LEASE_MS = 10_000
const RENEW_MS = 3000
/** Maximum pause of an idle loop, in ms. Signals and polls end it early. */
const MAX_PAUSE_MS = 30_000
/** Claims of at least this size are repeated at once, since a claim reads only the first requests of each task. */
const FULL_CLAIM = 100
/** Delay of a loop after a failure, in ms. */
const RETRY_DELAY_MS = 1000
/** Maximum connections of a process to receivers. Requests sent by agents do not count. */
const CONNECTIONS: Connections = { all: 1000, reserved: 200, perOrganization: 500, perTask: 50 }

/** Delivers run task requests and ends overdue results until disposed. All state is in the database, so processes can run it concurrently. */
export function startTaskDeliveries(ctx: Ctx, connections = CONNECTIONS): AsyncDisposable {
  const abort = new AbortController()
  // Two loops, since ending results may wait for workspace locks.
  const done = Promise.all([sendDue(ctx, connections, abort.signal), endOverdue(ctx, abort.signal)])
  return {
    async [Symbol.asyncDispose]() {
      abort.abort()
      await done
    },
  }
}

async function sendDue(ctx: Ctx, connections: Connections, signal: AbortSignal) {
  using topic = ctx.signals.subscribe(TOPIC)
  const inFlight: InFlight = new Map()
  const sending = { inFlight, connections, freed: new AbortController(), signal }
  using _ = wakeWhenDue(ctx, FIRST_DELIVERY, () => sending.freed.abort())
  const renewal = setInterval(() => {
    if (inFlight.size === 0) return
    renewLeases(ctx.db, [...inFlight.keys()], leaseEnd(ctx)).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'renewing leases of run task requests')
    })
  }, RENEW_MS)

  try {
    while (!signal.aborted) {
      sending.freed = new AbortController()
      const timeoutMs = await claimDue(ctx, sending).catch((error: unknown) => {
        ctx.log.error({ err: error }, 'run tasks')
        return RETRY_DELAY_MS
      })
      await topic.next({ timeoutMs, signal: AbortSignal.any([signal, sending.freed.signal]) })
    }
    await Promise.all([...inFlight.values()].map(({ sent }) => sent))
  } finally {
    clearInterval(renewal)
  }
}

/** Requests of this process in flight, by result id; without `receiver` if an agent sends the request. */
type InFlight = Map<string, { sent: Promise<unknown>; receiver: Receiver | undefined }>
type Receiver = Pick<Busy, 'taskId' | 'organizationId'>

/** `freed` aborts the pause when a contended connection ends, and when a request is or will soon be due. */
type Sending = { inFlight: InFlight; connections: Connections; freed: AbortController; signal: AbortSignal }

/** Claims due requests and starts sending them; returns the time to wait for more, in ms. */
async function claimDue(ctx: Ctx, sending: Sending) {
  const { inFlight, connections } = sending
  const now = ctx.now()
  const first = await findFirst(ctx.db, FIRST_DELIVERY)
  if (!first || first > now) return untilDue(ctx, first)
  const claims = await claimDeliveries(ctx.db, { now, leaseUntil: leaseEnd(ctx), connections, busy: busyOf(inFlight) })
  announce(ctx, ...claims.map(resultNotice))
  for (const claim of claims) {
    const receiver = receiverOf(claim)
    const sent = deliver(ctx, claim, sending.signal)
      .then((isRetried) => isRetried && sending.freed.abort())
      .catch((error: unknown) => {
        // The request is claimed again once its lease expires.
        ctx.log.error({ err: error, result: claim.id }, 'request of a run task')
      })
      .finally(() => {
        if (receiver && isContended(sending, receiver)) sending.freed.abort()
        // A later attempt may have replaced this one after it lost its lease.
        if (inFlight.get(claim.id)?.sent === sent) inFlight.delete(claim.id)
      })
    inFlight.set(claim.id, { sent, receiver })
  }
  if (claims.length >= FULL_CLAIM) return 0
  return untilDue(ctx, await findNextDelivery(ctx.db, now))
}

/** The receiver that the request holds a connection to. */
function receiverOf({ task_id, agent_pool_id, organization_id }: ClaimedRequest): Receiver | undefined {
  return task_id === null || agent_pool_id !== null ? undefined : { taskId: task_id, organizationId: organization_id }
}

/** Whether other requests may be waiting for the receiver's connection. */
function isContended({ inFlight, connections }: Sending, { taskId, organizationId }: Receiver) {
  const busy = busyOf(inFlight)
  return (
    sum(busy) >= connections.all - connections.reserved ||
    sum(busy.filter((receiver) => receiver.organizationId === organizationId)) >= connections.perOrganization ||
    sum(busy.filter((receiver) => receiver.taskId === taskId)) >= connections.perTask
  )
}

function busyOf(inFlight: InFlight): Busy[] {
  const busy = new Map<string, Busy>()
  for (const { receiver } of inFlight.values()) {
    if (receiver) busy.set(receiver.taskId, { ...receiver, count: (busy.get(receiver.taskId)?.count ?? 0) + 1 })
  }
  return [...busy.values()]
}

function sum(busy: readonly Busy[]) {
  return busy.reduce((total, { count }) => total + count, 0)
}

async function endOverdue(ctx: Ctx, signal: AbortSignal) {
  using topic = ctx.signals.subscribe(TOPIC)
  let due = new AbortController()
  using _ = wakeWhenDue(ctx, FIRST_DEADLINE, () => due.abort())
  while (!signal.aborted) {
    due = new AbortController()
    const timeoutMs = await endDue(ctx).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'deadlines of run tasks')
      return RETRY_DELAY_MS
    })
    await topic.next({ timeoutMs, signal: AbortSignal.any([signal, due.signal]) })
  }
}

/** Ends overdue results; returns the time until the next deadline, in ms. */
async function endDue(ctx: Ctx) {
  const first = await findFirst(ctx.db, FIRST_DEADLINE)
  if (!first || first > ctx.now()) return untilDue(ctx, first)
  await endOverdueResults(ctx)
  return untilDue(ctx, await findFirst(ctx.db, FIRST_DEADLINE))
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
