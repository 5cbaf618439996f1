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
const MAX_IN_FLIGHT = 1000

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
  const inFlight = new Map<string, Promise<void>>()
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
    await Promise.all(inFlight.values())
  } finally {
    clearInterval(renewal)
  }
}

/** Does what is due; returns how long to wait for more, in ms. */
async function doDueWork(ctx: Ctx, inFlight: Map<string, Promise<void>>, signal: AbortSignal) {
  const now = ctx.now()
  const claims = await claimDeliveries(ctx.db, {
    now,
    leaseUntil: leaseEnd(ctx),
    limit: MAX_IN_FLIGHT - inFlight.size,
  })
  for (const claim of claims) {
    const sent = deliver(ctx, claim, signal)
      .catch((error: unknown) => {
        // The lease expires, and the request is claimed again.
        ctx.log.error({ err: error, result: claim.id }, 'request of a run task')
      })
      .finally(() => inFlight.delete(claim.id))
    inFlight.set(claim.id, sent)
  }
  await endOverdueResults(ctx)
  const next = await findNextDue(ctx.db)
  return next === null ? POLL_MS : Math.min(POLL_MS, Math.max(10, next.getTime() - ctx.now().getTime()))
}

function leaseEnd(ctx: Ctx) {
  return new Date(ctx.now().getTime() + LEASE_MS)
}
