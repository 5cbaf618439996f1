import { setTimeout as pause } from 'node:timers/promises'
import type { Log } from '../log.ts'
import { expiredTotal } from '../metrics.ts'

/** Expiring data, as named in logs and metrics. */
export type Expiring = 'logs' | 'plans' | 'plan files' | 'histories' | 'archives' | 'deliveries' | 'agents'

/** Result of a batch: how much it deleted, and the key after which the next one continues; undefined after the last. */
export type Batch<Key> = { deleted: number; next: Key | undefined }

const DAY_MS = 86_400_000
/** Time limit of one job, in ms; the next one continues. */
const MAX_DURATION_MS = 10 * 60_000
/** A batch is followed by a pause as long as it took itself, so that what people do comes in between. At most so long, in ms. */
const MAX_PAUSE_MS = 2000

/** The moment before which something had to be there to be due; undefined where it is kept for ever, which 0 days say. */
export function dueBefore(now: Date, days: number): Date | undefined {
  return days === 0 ? undefined : new Date(now.getTime() - days * DAY_MS)
}

/**
 * Deletes expired data in small batches, each in separate transactions, with pauses in between. Ends with the last batch, when
 * `signal` aborts, or after some minutes. Returns how much was deleted.
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
    if (deleted > 0) log.info({ what, deleted, ms }, 'deleted what is no longer kept')
  }
  return deleted
}
