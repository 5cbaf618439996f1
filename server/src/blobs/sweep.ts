import { forEachConcurrently } from '../concurrency-limit.ts'
import type { Db } from '../db/db.ts'
import type { Blobs } from './blobs.ts'
import { isOwnKey } from './driver.ts'

/** Minimum age of an orphaned blob, in ms: a blob exists before the row that names it, and upload URLs are valid for a day. */
const ORPHAN_AGE_MS = 48 * 3_600_000
/** Time limit of a sweep, in ms; the next one continues. */
const MAX_DURATION_MS = 30 * 60_000
const CONCURRENCY = 8

type SweepContext = { blobs: Blobs; db: Db; now: () => Date }

/**
 * Deletes orphaned blobs below `prefix`: leftovers of failed requests, dead processes and deleted rows. `named` returns those of its
 * keys that rows name. Returns how many blobs were deleted. A sweep interrupted by `signal` or the time limit is continued by the next.
 */
export async function sweepBlobs(
  { blobs, db, now }: SweepContext,
  prefix: string,
  named: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
  signal: AbortSignal,
) {
  const before = new Date(now().getTime() - ORPHAN_AGE_MS)
  const until = performance.now() + MAX_DURATION_MS
  const saved = await db.selectFrom('blob_sweeps').select('cursor').where('prefix', '=', prefix).executeTakeFirst()
  let position = saved?.cursor
  let swept = 0
  for await (const { keys: listed, cursor } of blobs.list(prefix, position)) {
    const keys = listed.filter(isOwnKey)
    const retained = keys.length === 0 ? new Set() : await named(keys)
    const orphans = keys.filter((key) => !retained.has(key))
    await forEachConcurrently(orphans, CONCURRENCY, async (key) => {
      const blob = await blobs.stat(key)
      if (!blob || blob.modifiedAt >= before) return
      await blobs.delete(key)
      swept += 1
    })
    const isInterrupted = signal.aborted || performance.now() > until
    if (cursor !== position) await saveSweepCursor(db, prefix, { cursor, updated_at: now() })
    position = cursor
    if (isInterrupted) return swept
  }
  await db.deleteFrom('blob_sweeps').where('prefix', '=', prefix).execute()
  return swept
}

export async function deleteBlobs(blobs: Pick<Blobs, 'delete'>, keys: readonly string[]) {
  await forEachConcurrently(keys, CONCURRENCY, async (key) => blobs.delete(key))
}

/** The part of a key after its prefix: the id of the blob's owner. */
export function blobOwner(key: string, prefix: string) {
  return key.slice(prefix.length).split('/', 1)[0] ?? ''
}

/** Records the position of an interrupted pass over blobs. */
export async function saveSweepCursor(db: Db, prefix: string, sweep: { cursor: string; updated_at: Date }) {
  await db
    .insertInto('blob_sweeps')
    .values({ prefix, ...sweep })
    .onConflict((conflict) => conflict.column('prefix').doUpdateSet(sweep))
    .execute()
}
