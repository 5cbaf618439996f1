import type { Ctx } from '../../../app.ts'
import { deliver } from './deliver.ts'
import { claimDeliveries, renewLeases } from './deliveries-store.ts'
import { endOverdueResults } from './end.ts'
import { findNextDeadline, findNextDelivery } from './store.ts'
import { TOPIC } from './topic.ts'

/** When a process dies, the others take over its requests after this time. */
const LEASE_MS = 10_000
const RENEW_MS = 3000
/** A lost signal delays a request by at most this time. */
const POLL_MS = 1000
/**
 * How many connections to receivers a process holds, and how many of them for one organization: its receivers may take
 * their time. Requests that wait for an agent hold no connection, and do not count.
 */
const CONNECTIONS = { all: 1000, perOrganization: 100 }

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

async function sendDue(ctx: Ctx, connections: typeof CONNECTIONS, signal: AbortSignal) {
  using topic = ctx.signals.subscribe(TOPIC)
  const inFlight: InFlight = new Map()
  const sending = { inFlight, connections, freed: new AbortController(), signal }
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
        return POLL_MS
      })
      await topic.next({ timeoutMs, signal: AbortSignal.any([signal, sending.freed.signal]) })
    }
    await Promise.all([...inFlight.values()].map(({ sent }) => sent))
  } finally {
    clearInterval(renewal)
  }
}

/** What this process waits for, by the ids of the results; `organizationId` is undefined when an agent sends it. */
type InFlight = Map<string, { sent: Promise<void>; organizationId: string | undefined }>

/** `freed` is aborted when a connection ends that others may wait for. */
type Sending = { inFlight: InFlight; connections: typeof CONNECTIONS; freed: AbortController; signal: AbortSignal }

/** Claims what is due and starts to send it; returns how long to wait for more, in ms. */
async function claimDue(ctx: Ctx, sending: Sending) {
  const { inFlight, connections, signal } = sending
  const now = ctx.now()
  const busy = connectionsOf(inFlight)
  const claims = await claimDeliveries(ctx.db, {
    now,
    leaseUntil: leaseEnd(ctx),
    limit: connections.all - sum(busy),
    perOrganization: connections.perOrganization,
    busy,
  })
  for (const claim of claims) {
    const organizationId = claim.agent_pool_id === null ? claim.organization_id : undefined
    const sent = deliver(ctx, claim, signal)
      .catch((error: unknown) => {
        // The lease expires, and the request is claimed again.
        ctx.log.error({ err: error, result: claim.id }, 'request of a run task')
      })
      .finally(() => {
        if (isShort(sending, organizationId)) sending.freed.abort()
        // A later attempt may have its place, when this one had lost its lease.
        if (inFlight.get(claim.id)?.sent === sent) inFlight.delete(claim.id)
      })
    inFlight.set(claim.id, { sent, organizationId })
  }
  return untilDue(ctx, await findNextDelivery(ctx.db, now))
}

/** Whether there are no more connections for an organization. */
function isShort({ inFlight, connections }: Sending, organizationId: string | undefined) {
  if (organizationId === undefined) return false
  const busy = connectionsOf(inFlight)
  return sum(busy) >= connections.all || (busy.get(organizationId) ?? 0) >= connections.perOrganization
}

/** How many connections are held for each organization. */
function connectionsOf(inFlight: InFlight): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const { organizationId } of inFlight.values()) {
    if (organizationId !== undefined) counts.set(organizationId, (counts.get(organizationId) ?? 0) + 1)
  }
  return counts
}

function sum(counts: ReadonlyMap<string, number>) {
  return [...counts.values()].reduce((total, count) => total + count, 0)
}

async function endOverdue(ctx: Ctx, signal: AbortSignal) {
  using topic = ctx.signals.subscribe(TOPIC)
  while (!signal.aborted) {
    const timeoutMs = await endOverdueResults(ctx)
      .then(async () => untilDue(ctx, await findNextDeadline(ctx.db)))
      .catch((error: unknown) => {
        ctx.log.error({ err: error }, 'deadlines of run tasks')
        return POLL_MS
      })
    await topic.next({ timeoutMs, signal })
  }
}

/** How long to wait for a time, in ms: as long as a poll at most. */
function untilDue(ctx: Ctx, due: Date | undefined) {
  return due ? Math.min(POLL_MS, Math.max(10, due.getTime() - ctx.now().getTime())) : POLL_MS
}

function leaseEnd(ctx: Ctx) {
  return new Date(ctx.now().getTime() + LEASE_MS)
}
