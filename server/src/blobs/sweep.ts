import type { Db } from '../db/db.ts'
import type { Blobs } from './blobs.ts'

/** How long a blob may exist before a row names it, in ms. An upload takes time, and its URL is valid for a day. */
const ORPHAN_AGE_MS = 48 * 3_600_000
/** For how long one sweep goes on, in ms: the next one begins where it has ended. */
const MAX_DURATION_MS = 30 * 60_000
/** Blobs checked or deleted concurrently. */
const AT_ONCE = 8

type SweepContext = { blobs: Blobs; db: Db; now: () => Date }

/**
 * Deletes the blobs below `prefix` that no row names: leftovers of failed requests, dead processes and deleted rows.
 * `named` returns which of the given keys are still named. Returns how many blobs were deleted. A sweep that is broken off, by
 * `signal` or because it takes long, is continued by the next one.
 */
export async function sweepBlobs(
  { blobs, db, now }: SweepContext,
  prefix: string,
  named: (keys: readonly string[]) => Promise<ReadonlySet<string>>,
  signal: AbortSignal,
) {
  const before = new Date(now().getTime() - ORPHAN_AGE_MS)
  const until = performance.now() + MAX_DURATION_MS
  let at = await findSweepCursor(db, prefix)
  let swept = 0
  for await (const { keys, cursor } of blobs.list(prefix, at)) {
    const kept = keys.length === 0 ? new Set() : await named(keys)
    const unnamed = keys.filter((key) => !kept.has(key))
    await someAtOnce(unnamed, async (key) => {
      const blob = await blobs.stat(key)
      if (!blob || blob.modifiedAt >= before) return
      await blobs.delete(key)
      swept += 1
    })
    const isBrokenOff = signal.aborted || performance.now() > until
    if (cursor !== at) await saveSweepCursor(db, prefix, { cursor, now: now() })
    at = cursor
    if (isBrokenOff) return swept
  }
  await deleteSweepCursor(db, prefix)
  return swept
}

/** Deletes blobs that no row names any more. */
export async function deleteBlobs(blobs: Pick<Blobs, 'delete'>, keys: readonly string[]) {
  await someAtOnce(keys, async (key) => blobs.delete(key))
}

async function someAtOnce(keys: readonly string[], work: (key: string) => Promise<void>) {
  const left = keys.values()
  const workOff = async () => {
    for (const key of left) await work(key)
  }
  await Promise.all(Array.from({ length: AT_ONCE }, workOff))
}

/** The part of a key after its prefix: the id of the blob's owner. */
export function blobOwner(key: string, prefix: string) {
  return key.slice(prefix.length).split('/', 1)[0] ?? ''
}

/** Position at which the sweep of a prefix was interrupted; undefined if it completed. */
async function findSweepCursor(db: Db, prefix: string): Promise<string | undefined> {
  const row = await db.selectFrom('blob_sweeps').select('cursor').where('prefix', '=', prefix).executeTakeFirst()
  return row?.cursor
}

async function saveSweepCursor(db: Db, prefix: string, { cursor, now }: { cursor: string; now: Date }) {
  await db
    .insertInto('blob_sweeps')
    .values({ prefix, cursor, updated_at: now })
    .onConflict((conflict) => conflict.column('prefix').doUpdateSet({ cursor, updated_at: now }))
    .execute()
}

async function deleteSweepCursor(db: Db, prefix: string) {
  await db.deleteFrom('blob_sweeps').where('prefix', '=', prefix).execute()
}
