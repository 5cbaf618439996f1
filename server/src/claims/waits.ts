import { POLL_MS } from '../polls.ts'
import { KEPT_MS } from './pools.ts'

/**
 * How long a claim is held, in ms. Long ones end early, those of one agent together: what asks again at the same moment shares the
 * statements that this takes. Agents end at different moments, a few seconds apart.
 */
export function heldMs(waitMs: number, agentId: string) {
  if (waitMs < KEPT_MS) return waitMs
  const steps = Math.floor(waitMs / 2 / POLL_MS)
  const step = Buffer.from(agentId).reduce((sum, byte) => (sum * 31 + byte) % steps, 0)
  return waitMs - ((performance.now() + waitMs + step * POLL_MS) % (steps * POLL_MS))
}

/** Waits for a time in ms, or until the abort. */
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
