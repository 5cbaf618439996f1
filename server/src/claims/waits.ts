import { POLL_MS } from '../polls.ts'
import { POOL_TTL_MS } from './pools.ts'

/**
 * How long to hold a claim, in ms. Long polls end early, those of one agent together: claims that arrive together share the
 * same statements. The claims of different agents end a few seconds apart.
 */
export function jitteredPollMs(waitMs: number, agentId: string) {
  if (waitMs < POOL_TTL_MS) return waitMs
  const steps = Math.floor(waitMs / 2 / POLL_MS)
  const step = Buffer.from(agentId).reduce((sum, byte) => (sum * 31 + byte) % steps, 0)
  return waitMs - ((performance.now() + waitMs + step * POLL_MS) % (steps * POLL_MS))
}

/** Waits for `ms`, or until the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal) {
  if (signal?.aborted) return undefined
  return new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms).unref()
    signal?.addEventListener('abort', end)
  })
}
