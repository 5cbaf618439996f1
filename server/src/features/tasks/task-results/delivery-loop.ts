import type { RawBuilder } from 'kysely'
import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { POLL_MS } from '../../../polls.ts'
import { resultNotice } from './announce.ts'
import { deliver } from './deliver.ts'
import { type Busy, claimDeliveries, type ClaimedRequest, type Connections, renewLeases } from './deliveries-store.ts'
import { endOverdueResults } from './end.ts'
import { FIRST_DEADLINE, FIRST_DELIVERY, findFirst, findNextDelivery } from './store.ts'
import { TOPIC } from './topic.ts'

/** When a process dies, the others take over its requests after this time. */
const LEASE_MS = 10_000
const RENEW_MS = 3000
/** So long, in ms, a loop pauses that knows of nothing. Signals and the polls of the process end the pause. */
const LONGEST_PAUSE_MS = 30_000
/** After a claim of so many, there may be more of the same tasks: a claim looks at the first ones of each. */
const MANY = 100
/** After a failure a loop goes on after this time, in ms. */
const RETRY_MS = 1000
/** How many connections to receivers a process holds. Requests that wait for an agent hold none, and do not count. */
const CONNECTIONS: Connections = { all: 1000, reserved: 200, perOrganization: 500, perTask: 50 }

/**
 * Sends the requests of run tasks and ends overdue results until it is disposed. The rows of the results say what is
 * due, so any number of processes may do this at the same time.
 */
export function startTaskDeliveries(ctx: Ctx, connections = CONNECTIONS): AsyncDisposable {
  const abort = new AbortController()
  // What holds up one of the two, such as a lock on a workspace, does not hold up the other.
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
      ctx.log.error({ err: error }, 'leases of run task requests')
    })
  }, RENEW_MS)

  try {
    while (!signal.aborted) {
      sending.freed = new AbortController()
      const timeoutMs = await claimDue(ctx, sending).catch((error: unknown) => {
        ctx.log.error({ err: error }, 'run tasks')
        return RETRY_MS
      })
      await topic.next({ timeoutMs, signal: AbortSignal.any([signal, sending.freed.signal]) })
    }
    await Promise.all([...inFlight.values()].map(({ sent }) => sent))
  } finally {
    clearInterval(renewal)
  }
}

/** What this process waits for, by the ids of the results; `receiver` is undefined when an agent sends it. */
type InFlight = Map<string, { sent: Promise<void>; receiver: Receiver | undefined }>
type Receiver = Pick<Busy, 'taskId' | 'organizationId'>

/** `freed` is aborted when a connection ends that others may wait for, and when a request is or will soon be due. */
type Sending = { inFlight: InFlight; connections: Connections; freed: AbortController; signal: AbortSignal }

/** Claims what is due and starts to send it; returns how long to wait for more, in ms. */
async function claimDue(ctx: Ctx, sending: Sending) {
  const { inFlight, connections } = sending
  const now = ctx.now()
  const first = await findFirst(ctx.db, FIRST_DELIVERY)
  if (!first || first > now) return untilDue(ctx, first)
  const claims = await claimDeliveries(ctx.db, { now, leaseUntil: leaseEnd(ctx), connections, busy: busyOf(inFlight) })
  announce(ctx, ...claims.map(resultNotice))
  for (const claim of claims) {
    const receiver = receiverOf(claim)
    const sent = send(ctx, claim, sending)
      .catch((error: unknown) => {
        // The lease expires, and the request is claimed again.
        ctx.log.error({ err: error, result: claim.id }, 'request of a run task')
      })
      .finally(() => {
        if (receiver && isShort(sending, receiver)) sending.freed.abort()
        // A later attempt may have its place, when this one had lost its lease.
        if (inFlight.get(claim.id)?.sent === sent) inFlight.delete(claim.id)
      })
    inFlight.set(claim.id, { sent, receiver })
  }
  if (claims.length >= MANY) return 0
  return untilDue(ctx, await findNextDelivery(ctx.db, now))
}

async function send(ctx: Ctx, claim: ClaimedRequest, sending: Sending) {
  const isDueAgain = await deliver(ctx, claim, sending.signal)
  if (isDueAgain) sending.freed.abort()
}

/** The receiver of which the request holds a connection. */
function receiverOf({ task_id, agent_pool_id, organization_id }: ClaimedRequest): Receiver | undefined {
  return task_id === null || agent_pool_id !== null ? undefined : { taskId: task_id, organizationId: organization_id }
}

/** Whether others may wait for the connection that a receiver gives back. */
function isShort({ inFlight, connections }: Sending, { taskId, organizationId }: Receiver) {
  const busy = busyOf(inFlight)
  return (
    sum(busy) >= connections.all - connections.reserved ||
    sum(busy.filter((receiver) => receiver.organizationId === organizationId)) >= connections.perOrganization ||
    sum(busy.filter((receiver) => receiver.taskId === taskId)) >= connections.perTask
  )
}

/** How many connections each receiver holds. */
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
      return RETRY_MS
    })
    await topic.next({ timeoutMs, signal: AbortSignal.any([signal, due.signal]) })
  }
}

/** Ends what is overdue; returns how long to wait for more, in ms. */
async function endDue(ctx: Ctx) {
  const first = await findFirst(ctx.db, FIRST_DEADLINE)
  if (!first || first > ctx.now()) return untilDue(ctx, first)
  await endOverdueResults(ctx)
  return untilDue(ctx, await findFirst(ctx.db, FIRST_DEADLINE))
}

/** Ends a pause when the polls of the process find that the first of all is due, or will be before the next poll. */
function wakeWhenDue(ctx: Ctx, first: RawBuilder<Date | null>, wake: () => void) {
  return ctx.polls.add({
    ask: () => first,
    response: (due) => {
      if (due && due.getTime() < ctx.now().getTime() + POLL_MS) wake()
    },
  })
}

/** How long to wait for a time, in ms. */
function untilDue(ctx: Ctx, due: Date | undefined) {
  return due ? Math.min(LONGEST_PAUSE_MS, Math.max(10, due.getTime() - ctx.now().getTime())) : LONGEST_PAUSE_MS
}

function leaseEnd(ctx: Ctx) {
  return new Date(ctx.now().getTime() + LEASE_MS)
}
