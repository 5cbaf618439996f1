import { setTimeout as delay } from 'node:timers/promises'
import type { AgentJob, JobCommand } from '@groundstate/contract/agent'
import { LeaseLost, Refused, type JobClient } from './client.ts'
import { Stopped } from './process.ts'

const LONGEST_HOLD_MS = 25_000
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

type LeaseEvents = { onCommand: (command: 'cancel' | 'force-cancel') => void; onLost: (reason: Stopped) => void }

/**
 * Keeps one heartbeat of a job waiting at the server, so that a command arrives at once.
 *
 * The agent counts the lease from when it sent the last answered heartbeat, the server from when that arrived. So the agent
 * gives up first.
 */
export function holdLease(client: JobClient, job: AgentJob, { onCommand, onLost }: LeaseEvents): Lease {
  const ended = new AbortController()
  const holdMs = Math.min(LONGEST_HOLD_MS, Math.floor(job.leaseMs / 3))
  let expiry = expireIn(job.leaseMs)
  let concluding = false

  function expireIn(ms: number) {
    return setTimeout(() => lose(`the server could not be reached for ${job.leaseMs} ms, the length of the lease`), ms)
  }

  function lose(why: string) {
    ended.abort()
    onLost(new Stopped('lease-lost', why))
  }

  async function beat() {
    let seen: JobCommand = 'continue'
    while (!ended.signal.aborted) {
      const sentAt = performance.now()
      const command: JobCommand = await client.heartbeat(holdMs, seen, ended.signal)
      clearTimeout(expiry)
      if (ended.signal.aborted) return
      const elapsedMs = performance.now() - sentAt
      expiry = expireIn(Math.max(0, job.leaseMs - elapsedMs))
      if (command !== seen && command !== 'continue') onCommand(command)
      else if (elapsedMs < SHORTEST_BEAT_MS)
        await delay(SHORTEST_BEAT_MS - elapsedMs, undefined, { signal: ended.signal })
      seen = command
    }
  }

  const beating = beat().catch((error: unknown) => {
    if (ended.signal.aborted) return
    if (error instanceof LeaseLost || error instanceof Refused) return concluding ? undefined : lose(error.message)
    lose(`heartbeats failed: ${String(error)}`)
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
