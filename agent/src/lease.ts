import { setTimeout as delay } from 'node:timers/promises'
import type { AgentJob, JobCommand } from '@groundstate/contract/agent'
import { LeaseLost, Refused, type JobClient } from './client.ts'

const LONGEST_HOLD_MS = 10_000
/** A server gets at least this long to answer, in ms. */
const LEAST_ANSWER_MS = 1_000
/** The least time between two heartbeats, in ms, for a server that does not hold them. */
const SHORTEST_BEAT_MS = 250

/** Disposing ends the heartbeats; it resolves when none is under way. */
export type Lease = AsyncDisposable & {
  /**
   * The job's outcome is being reported. From here on a refused heartbeat only means that the server has received it, and the
   * answer to the report counts.
   */
  concluding(): void
}

export type LeaseEvents = {
  onCommand: (command: 'cancel' | 'force-cancel') => void
  /** The server could not be reached for the length of the lease. It may come back, and the lease with it. */
  onCutOff: (why: string) => void
  /** The server has given the job up; `isGone` says that it does not even know the job any more. */
  onLost: (why: string, isGone: boolean) => void
}

/**
 * Keeps one heartbeat of a job waiting at the server, so that a command arrives at once.
 *
 * The agent counts the lease from when it sent the last answered heartbeat, the server from when that arrived. So the agent
 * gives up first. Heartbeats go on all the same: a server that was away waits before it gives a job up.
 */
export function holdLease(
  client: JobClient,
  { leaseMs }: Pick<AgentJob, 'leaseMs'>,
  { onCommand, onCutOff, onLost }: LeaseEvents,
): Lease {
  const ended = new AbortController()
  const holdMs = Math.min(LONGEST_HOLD_MS, Math.floor(leaseMs / 3))
  const answerMs = Math.max(LEAST_ANSWER_MS, Math.floor(leaseMs / 3))
  let expiry = expireIn(leaseMs)
  let concluding = false

  function expireIn(ms: number) {
    return setTimeout(
      () => onCutOff(`the server could not be reached for ${leaseMs / 1000} s, the length of the lease`),
      ms,
    )
  }

  async function beat() {
    let seen: JobCommand = 'continue'
    while (!ended.signal.aborted) {
      const sentAt = performance.now()
      const command: JobCommand = await client.heartbeat(holdMs, seen, { answerMs, signal: ended.signal })
      clearTimeout(expiry)
      if (ended.signal.aborted) return
      const elapsedMs = performance.now() - sentAt
      expiry = expireIn(Math.max(0, leaseMs - elapsedMs))
      if (command !== seen && command !== 'continue') onCommand(command)
      else if (elapsedMs < SHORTEST_BEAT_MS)
        await delay(SHORTEST_BEAT_MS - elapsedMs, undefined, { signal: ended.signal })
      seen = command
    }
  }

  const beating = beat().catch((error: unknown) => {
    clearTimeout(expiry)
    if (ended.signal.aborted) return
    const isRefused = error instanceof LeaseLost || error instanceof Refused
    if (isRefused && concluding) return
    const isGone = error instanceof LeaseLost && error.isGone
    onLost(reasonOf(error), isGone)
  })

  return {
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
    return 'the server has given it up, since no sign of life had reached it in time'
  return error instanceof LeaseLost || error instanceof Refused ? error.message : `heartbeats failed: ${String(error)}`
}
