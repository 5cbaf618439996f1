import { setTimeout as delay } from 'node:timers/promises'
import type { AgentJob, JobCommand } from '@groundstate/contract/agent'
import { RequestRejectedError } from '../server/connection.ts'
import { type JobClient, LeaseLost } from '../server/job-client.ts'

const MAX_LONG_POLL_MS = 10_000
/** A server gets at least this long to answer, in ms. */
const MIN_RESPONSE_TIMEOUT_MS = 1_000
/** The receipt of a job is urgent: it is sent again when it is not answered in this time, in ms. */
const RECEIPT_RESPONSE_MS = 1_500
/** A timer that fires later than this, in ms, shows that this process stood still. */
const LATE_MS = 1_000
/** The least time between two heartbeats, in ms, for a server that does not hold them. */
const SHORTEST_BEAT_MS = 250
/** After the receipt, in ms: a command to a job that has just begun arrives this much later. */
const FIRST_HOLD_MS = 1_000
/** The pause after a heartbeat that got no response of the server's own, in ms. */
const REFUSED_MS = 1_000

/** Disposing ends the heartbeats; it resolves when none is under way. */
type Lease = AsyncDisposable & {
  /**
   * Resolves once the server knows that the job has arrived. Before that it may give the job to another agent, so that no
   * program may start: a directory may be made ready. Rejects with why when it has.
   */
  received: Promise<void>
  /**
   * The job's outcome is being reported. From here on a refused heartbeat only means that the server has received it, and the
   * answer to the report counts.
   */
  concluding(): void
}

type LeaseEvents = {
  onCommand: (command: 'cancel' | 'force-cancel') => void
  /** The server could not be reached for the length of the lease. It may come back, and the lease with it. */
  onCutOff: (why: string) => void
  /** The server has given the job up; `isGone` says that it does not even know the job any more. */
  onLost: (why: string, isGone: boolean) => void
  /** Reports a heartbeat without a valid response of the server, once per kind. */
  onRefused: (error: unknown) => void
}

/**
 * Says at once that the job has arrived, and after a moment keeps one heartbeat waiting at the server, so that a command arrives at once.
 *
 * The agent counts the lease from when it sent the last answered heartbeat, the server from when that arrived. So the agent
 * gives up first. Heartbeats go on all the same: a server that was away waits before it gives a job up.
 */
export function holdLease(
  client: JobClient,
  { leaseMs }: Pick<AgentJob, 'leaseMs'>,
  { onCommand, onCutOff, onLost, onRefused }: LeaseEvents,
): Lease {
  const ended = new AbortController()
  // The lease counts from before the hold that was answered last, and the one that is cut off has gone by too.
  const longPollMs = Math.min(MAX_LONG_POLL_MS, Math.floor(leaseMs / 6))
  const responseMs = Math.max(MIN_RESPONSE_TIMEOUT_MS, Math.floor(leaseMs / 3))
  let expiry: NodeJS.Timeout | undefined = expireIn(leaseMs)
  let concluding = false
  let isReceived = false
  const refusals = new Set<string>()
  const received = Promise.withResolvers<void>()
  // Recovery of a dead agent's job sends no heartbeats.
  received.promise.catch(() => {})

  function expireIn(ms: number) {
    const dueAt = performance.now() + ms
    return setTimeout(() => {
      // This process stood still, and perhaps the server with it: the response to the next heartbeat says what has become of the job.
      if (performance.now() - dueAt > LATE_MS) expiry = expireIn(responseMs)
      else onCutOff(`the server could not be reached for ${leaseMs / 1000} s, the length of the lease`)
    }, ms)
  }

  /** A heartbeat was answered after `elapsedMs`; returns what is left of the lease, in ms. */
  function renew(elapsedMs: number) {
    const leftMs = Math.max(0, leaseMs - elapsedMs)
    clearTimeout(expiry)
    // A response that took longer than the lease says only that the server is there: the next one says whose the job is.
    if (!ended.signal.aborted) expiry = expireIn(leftMs === 0 ? responseMs : leftMs)
    return leftMs
  }

  async function beat() {
    const arrivedAt = performance.now()
    const receipt = await client.heartbeat(0, 'continue', { responseMs: RECEIPT_RESPONSE_MS, signal: ended.signal })
    isReceived = true
    received.resolve()
    if (receipt !== 'continue') onCommand(receipt)
    let seen: JobCommand = receipt
    let leftMs = renew(performance.now() - arrivedAt)
    // Most phases are short: a request that waits for a command would be cut off, and its connection with it.
    await delay(Math.min(FIRST_HOLD_MS, longPollMs), undefined, { signal: ended.signal })
    while (!ended.signal.aborted) {
      const sentAt = performance.now()
      const waitMs = Math.floor(Math.min(longPollMs, leftMs / 2))
      const command = await client
        .heartbeat(waitMs, seen, { responseMs, signal: ended.signal })
        .catch((error: unknown) => passing(error))
      if (ended.signal.aborted) return
      if (command === undefined) {
        await delay(REFUSED_MS, undefined, { signal: ended.signal })
        continue
      }
      const elapsedMs = performance.now() - sentAt
      leftMs = renew(elapsedMs)
      if (command !== seen && command !== 'continue') onCommand(command)
      else if (elapsedMs < SHORTEST_BEAT_MS)
        await delay(SHORTEST_BEAT_MS - elapsedMs, undefined, { signal: ended.signal })
      seen = command
    }
  }

  /** A proxy may answer in place of the server for a while. Only the server can end the lease. */
  function passing(error: unknown) {
    if (error instanceof LeaseLost) throw error
    const kind =
      error instanceof RequestRejectedError ? `status ${error.status}` : error instanceof Error ? error.name : 'unknown'
    if (!ended.signal.aborted && !refusals.has(kind)) onRefused(error)
    refusals.add(kind)
    return undefined
  }

  const beating = beat().catch((error: unknown) => {
    clearTimeout(expiry)
    if (ended.signal.aborted) return
    if (!isReceived) return received.reject(error)
    if (concluding) return
    onLost(reasonOf(error), error instanceof LeaseLost && error.isGone)
  })

  return {
    received: received.promise,
    concluding() {
      concluding = true
    },
    async [Symbol.asyncDispose]() {
      ended.abort()
      await beating
      clearTimeout(expiry)
    },
  }
}

function reasonOf(error: unknown) {
  if (error instanceof LeaseLost && !error.isGone)
    return 'the server abandoned it, since no heartbeat reached it in time'
  return error instanceof LeaseLost ? error.message : `heartbeats failed: ${String(error)}`
}
