import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log.ts'
import { expiredTotal } from '../metrics.ts'

/** Expiring data, as named in logs and metrics. */
export type Expiring =
  | 'logs'
  | 'plans'
  | 'plan files'
  | 'histories'
  | 'archives'
  | 'deliveries'
  | 'notifications'
  | 'connection events'
  | 'commits'
  | 'publications'
  | 'policy trials'
  | 'agents'

/** `next` is the key after which the next batch continues; undefined after the last one. */
type Batch<Key> = { deleted: number; next: Key | undefined }

const DAY_MS = 86_400_000
/** Time limit of one job, in ms; the next one continues. */
const MAX_DURATION_MS = 10 * 60_000
/** Maximum pause after a batch, in ms. A pause is as long as its batch took, to leave time for requests. */
const MAX_PAUSE_MS = 2000

/** The moment before which data is expired; undefined for 0 days, which keep it forever. */
export function dueBefore(now: Date, days: number): Date | undefined {
  return days === 0 ? undefined : new Date(now.getTime() - days * DAY_MS)
}

/**
 * Deletes expired data in small batches, each a separate transaction, until the last batch, the abort of `signal` or the time limit. Returns
 * how much was deleted.
 */
export async function expireInBatches<Key>(
  { log }: { log: Log },
  what: Expiring,
  { signal, batch }: { signal: AbortSignal; batch: (after: Key | undefined) => Promise<Batch<Key>> },
) {
  const began = performance.now()
  let deleted = 0
  let after: Key | undefined
  try {
    while (!signal.aborted) {
      const from = performance.now()
      const done = await batch(after)
      deleted += done.deleted
      expiredTotal.inc({ what }, done.deleted)
      after = done.next
      if (after === undefined || from - began > MAX_DURATION_MS) break
      const ms = Math.min(performance.now() - from, MAX_PAUSE_MS)
      await pause(ms, undefined, { signal, ref: false }).catch(() => {})
    }
  } finally {
    const ms = Math.round(performance.now() - began)
    if (deleted > 0) log.info({ what, deleted, ms }, 'deleted expired data')
  }
  return deleted
}
