import type { Ctx } from '../../../app.ts'
import { deliver } from './deliver.ts'
import { claimDeliveries, renewLeases } from './deliveries-store.ts'
import { endOverdueResults } from './end.ts'
import { findNextDue } from './store.ts'
import { TOPIC } from './topic.ts'

/** When a process dies, the others take over its requests after this time. */
const LEASE_MS = 10_000
const RENEW_MS = 3000
/** A lost signal delays a request by at most this time. */
const POLL_MS = 1000
/** Requests that wait for an agent hold no connection, and do not count. */
const MAX_CONNECTIONS = 1000

/**
 * Sends the requests of run tasks and ends overdue results until it is disposed. The rows of the results say what is
 * due, so any number of processes may do this at the same time.
 */
export function startTaskDeliveries(ctx: Ctx): AsyncDisposable {
  const abort = new AbortController()
  const done = work(ctx, abort.signal)
  return {
    async [Symbol.asyncDispose]() {
      abort.abort()
      await done
    },
  }
}

async function work(ctx: Ctx, signal: AbortSignal) {
  using topic = ctx.signals.subscribe(TOPIC)
  const inFlight: InFlight = new Map()
  const renewal = setInterval(() => {
    if (inFlight.size === 0) return
    renewLeases(ctx.db, [...inFlight.keys()], leaseEnd(ctx)).catch((error: unknown) => {
      ctx.log.error({ err: error }, 'leases of run task requests')
    })
  }, RENEW_MS)

  try {
    while (!signal.aborted) {
      const timeoutMs = await doDueWork(ctx, inFlight, signal).catch((error: unknown) => {
        ctx.log.error({ err: error }, 'run tasks')
        return POLL_MS
      })
      await topic.next({ timeoutMs, signal })
    }
    await Promise.all([...inFlight.values()].map(({ sent }) => sent))
  } finally {
    clearInterval(renewal)
  }
}

/** What this process waits for, by the ids of the results. */
type InFlight = Map<string, { sent: Promise<void>; isDirect: boolean }>

/** Does what is due; returns how long to wait for more, in ms. */
async function doDueWork(ctx: Ctx, inFlight: InFlight, signal: AbortSignal) {
  const now = ctx.now()
  const connections = [...inFlight.values()].filter(({ isDirect }) => isDirect).length
  const claims = await claimDeliveries(ctx.db, {
    now,
    leaseUntil: leaseEnd(ctx),
    limit: MAX_CONNECTIONS - connections,
  })
  for (const claim of claims) {
    const sent = deliver(ctx, claim, signal)
      .catch((error: unknown) => {
        // The lease expires, and the request is claimed again.
        ctx.log.error({ err: error, result: claim.id }, 'request of a run task')
      })
      .finally(() => {
        // A later attempt may have its place, when this one had lost its lease.
        if (inFlight.get(claim.id)?.sent === sent) inFlight.delete(claim.id)
      })
    inFlight.set(claim.id, { sent, isDirect: claim.agent_pool_id === null })
  }
  await endOverdueResults(ctx)
  const next = await findNextDue(ctx.db)
  return next === null ? POLL_MS : Math.min(POLL_MS, Math.max(10, next.getTime() - ctx.now().getTime()))
}

function leaseEnd(ctx: Ctx) {
  return new Date(ctx.now().getTime() + LEASE_MS)
}
