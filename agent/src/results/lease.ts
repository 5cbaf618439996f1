import { setTimeout as delay } from 'node:timers/promises'
import type { AgentJob, JobCommand } from '@groundstate/contract/agent'
import { RequestRejectedError } from '../server/connection.ts'
import { type JobClient, LeaseLost } from '../server/job-client.ts'

const MAX_LONG_POLL_MS = 10_000
/** Minimum response timeout of a heartbeat, in ms. */
const MIN_RESPONSE_TIMEOUT_MS = 1_000
/** Response timeout of the acknowledgement, which is urgent and so retried early, in ms. */
const ACK_RESPONSE_TIMEOUT_MS = 1_500
/** A timer that fires later than this, in ms, shows that this process was suspended. */
const TIMER_SKEW_MS = 1_000
/** Minimum interval of heartbeats, in ms, for a server without long polls. */
const MIN_HEARTBEAT_INTERVAL_MS = 250
/** Delay of the first long poll after the acknowledgement, in ms; delays commands to a job that has just begun. */
const FIRST_POLL_DELAY_MS = 1_000
const REJECTED_DELAY_MS = 1_000

type LeaseEvents = {
  onCommand: (command: 'cancel' | 'force-cancel') => void
  /** The server was unreachable for the length of the lease, which may still be valid. */
  onUnreachable: (why: string) => void
  /** The server has abandoned the job, or even deleted it. */
  onLost: (why: string, isDeleted: boolean) => void
  /** A heartbeat got no valid response of the server; called once per kind. */
  onRejected: (error: unknown) => void
}

/**
 * Acknowledges the job at once, and soon after keeps one heartbeat pending at the server, so that a command arrives at once.
 *
 * The agent counts the lease from when it sent the last successful heartbeat, the server from its arrival. So the agent stops first.
 * Heartbeats continue: after a restart a server waits before it abandons jobs.
 */
export function holdLease(client: JobClient, { leaseMs }: Pick<AgentJob, 'leaseMs'>, events: LeaseEvents) {
  const { onCommand, onUnreachable, onLost, onRejected } = events
  const ended = new AbortController()
  const { signal } = ended
  // The lease starts before the last successful poll, and may include one that is interrupted.
  const longPollMs = Math.min(MAX_LONG_POLL_MS, Math.floor(leaseMs / 6))
  const responseMs = Math.max(MIN_RESPONSE_TIMEOUT_MS, Math.floor(leaseMs / 3))
  const lateMs = Math.floor(responseMs / 2)
  let expiry: NodeJS.Timeout | undefined = expireIn(leaseMs)
  let concluding = false
  let isAcknowledged = false
  const rejections = new Set<string>()
  const acknowledged = Promise.withResolvers<void>()
  // The recovery of a dead agent's job does not await it.
  acknowledged.promise.catch(() => {})

  function expireIn(ms: number) {
    const dueAt = performance.now() + ms
    return setTimeout(() => {
      // This process was suspended, and perhaps the server too: the response to the next heartbeat decides.
      if (performance.now() - dueAt > TIMER_SKEW_MS) expiry = expireIn(responseMs)
      else onUnreachable(`the server could not be reached for ${leaseMs / 1000} s, the length of the lease`)
    }, ms)
  }

  /** Renews the lease after a heartbeat of `elapsedMs`; returns the remaining time, in ms. */
  function renew(elapsedMs: number) {
    const leftMs = Math.max(0, leaseMs - elapsedMs)
    clearTimeout(expiry)
    // A response slower than the lease proves only that the server is online: the next one decides.
    if (!signal.aborted) expiry = expireIn(leftMs === 0 ? responseMs : leftMs)
    return leftMs
  }

  async function beat() {
    const startedAt = performance.now()
    let seen = await client.heartbeat(0, 'continue', { responseMs: ACK_RESPONSE_TIMEOUT_MS, signal })
    isAcknowledged = true
    acknowledged.resolve()
    if (seen !== 'continue') onCommand(seen)
    let leftMs = renew(performance.now() - startedAt)
    // Most phases are short: a pending long poll would be aborted, and its connection with it.
    await delay(Math.min(FIRST_POLL_DELAY_MS, longPollMs), undefined, { signal })
    while (!signal.aborted) {
      const sentAt = performance.now()
      const waitMs = Math.floor(Math.min(longPollMs, leftMs / 2))
      const command = await poll(waitMs, seen)
      if (signal.aborted) return
      if (command === undefined) {
        await delay(REJECTED_DELAY_MS, undefined, { signal })
        continue
      }
      const elapsedMs = performance.now() - sentAt
      leftMs = renew(elapsedMs)
      if (command !== seen && command !== 'continue') onCommand(command)
      else if (elapsedMs < MIN_HEARTBEAT_INTERVAL_MS)
        await delay(MIN_HEARTBEAT_INTERVAL_MS - elapsedMs, undefined, { signal })
      seen = command
    }
  }

  /** Undefined if a proxy rejected the heartbeat: only the server can end the lease. */
  async function poll(waitMs: number, seen: JobCommand): Promise<JobCommand | undefined> {
    try {
      return await ask(waitMs, seen)
    } catch (error) {
      if (error instanceof LeaseLost) throw error
      const name = error instanceof Error ? error.name : 'unknown'
      const kind = error instanceof RequestRejectedError ? `status ${error.status}` : name
      if (!signal.aborted && !rejections.has(kind)) onRejected(error)
      rejections.add(kind)
      return undefined
    }
  }

  /** Asks once more if the response is late, and returns the first one: either the server is slow, or the network has dropped the request. */
  async function ask(waitMs: number, seen: JobCommand): Promise<JobCommand> {
    const answered = new AbortController()
    const options = { responseMs, signal: AbortSignal.any([signal, answered.signal]) }
    const askedAt = performance.now()
    const askAgain = async () => {
      await delay(waitMs + lateMs, undefined, options)
      return client.heartbeat(0, seen, { ...options, openedAfter: askedAt })
    }
    try {
      return await Promise.race([client.heartbeat(waitMs, seen, options), askAgain()])
    } finally {
      answered.abort()
    }
  }

  const beating = beat().catch((error: unknown) => {
    clearTimeout(expiry)
    if (signal.aborted) return
    if (!isAcknowledged) return acknowledged.reject(error)
    if (concluding) return
    onLost(reasonOf(error), error instanceof LeaseLost && error.isDeleted)
  })

  return {
    /**
     * Resolves when the server has the acknowledgement. Before that no program may start; a directory may be prepared. Rejects when the
     * server has requeued the job.
     */
    acknowledged: acknowledged.promise,
    /** Call before reporting the outcome. The response to the report then decides, and a rejected heartbeat means that it arrived. */
    concluding() {
      concluding = true
    },
    /** Ends the heartbeats and waits for the current one. */
    async [Symbol.asyncDispose]() {
      ended.abort()
      await beating
      clearTimeout(expiry)
    },
  }
}

function reasonOf(error: unknown) {
  if (!(error instanceof LeaseLost)) return `heartbeats failed: ${String(error)}`
  return error.isDeleted ? error.message : 'the server abandoned it, since no heartbeat reached it in time'
}
