import type { Blobs } from './blobs.ts'

/** How long a blob may exist before a row names it, in ms. An upload takes time, and its URL is valid for a day. */
const ORPHAN_AGE_MS = 48 * 3_600_000
const BATCH = 500

/**
 * Deletes the blobs below `prefix` that no row names: leftovers of failed requests, dead processes and deleted rows.
 * `named` returns which of the given keys are still named. Returns how many blobs were deleted.
 */
export async function sweepBlobs(
  { blobs, now }: { blobs: Blobs; now: () => Date },
  prefix: string,
  named: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
  signal: AbortSignal,
) {
  const before = new Date(now().getTime() - ORPHAN_AGE_MS)
  let swept = 0
  let batch: string[] = []
  const flush = async () => {
    const kept = batch.length === 0 ? new Set() : await named(batch)
    for (const key of batch.filter((key) => !kept.has(key))) {
      await blobs.delete(key)
      swept += 1
    }
    batch = []
  }
  for await (const { key, modifiedAt } of blobs.list(prefix)) {
    if (signal.aborted) return swept
    if (modifiedAt >= before) continue
    batch.push(key)
    if (batch.length === BATCH) await flush()
  }
  await flush()
  return swept
}

/** The part of a key after its prefix: the id of the blob's owner. */
export function blobOwner(key: string, prefix: string) {
  return key.slice(prefix.length).split('/', 1)[0] ?? ''
}
