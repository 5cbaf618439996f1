import { link, mkdir, stat, unlink } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { codeOf } from '../error-code.ts'
import { syncDirectory } from './directory-sync.ts'
import type { DiskPlace, diskPlaces } from './disk-places.ts'

/** Options of `stat`: undefined for a missing file, which is common here and cheaper than an error. */
export const IF_THERE = { throwIfNoEntry: false } as const

/** Number of blobs moved per batch: one fsync covers all those of a shard. */
const BATCH = 256

/**
 * Moves the blobs that were put before `before` from their directories to their shards, until `signal` aborts. Returns how many.
 * A blob has both names for a while, and always one of them: reads look for the first and then for the second. So it may be killed at
 * any time, and several processes may do it at once.
 */
export async function moveToShards(
  { directories, place, keysIn }: ReturnType<typeof diskPlaces>,
  before: Date,
  signal: AbortSignal,
) {
  let moved = 0
  for (const directory of directories) {
    let batch: DiskPlace[] = []
    for await (const key of keysIn(directory)) {
      if (signal.aborted) return moved
      batch.push(place(key))
      if (batch.length < BATCH) continue
      const began = performance.now()
      moved += await moveBatch(directory, batch, before)
      batch = []
      // Puts and reads come in between, also while a store of an earlier version moves as a whole.
      await pause(performance.now() - began, undefined, { signal, ref: false }).catch(() => {})
    }
    moved += await moveBatch(directory, batch, before)
  }
  return moved
}

async function moveBatch(directory: string, batch: readonly DiskPlace[], before: Date) {
  const found = await Promise.all(batch.map(async (place) => ({ place, is: await stat(place.newPath, IF_THERE) })))
  const due = found.flatMap(({ place, is }) => (is && is.mtime < before ? [place] : []))
  if (due.length === 0) return 0
  const shards = [...new Set(due.map(({ shard }) => shard))]
  const made = await Promise.all(shards.map(makeShard))
  await Promise.all(due.map(linkInShard))
  // A name that is taken away before the other one is on the disk would be lost in a power cut.
  if (made.includes(true)) await syncDirectory(directory)
  await Promise.all(shards.map(syncDirectory))
  await Promise.all(due.map(async ({ newPath }) => unlinkIfThere(newPath)))
  await syncDirectory(directory)
  return due.length
}

async function makeShard(path: string) {
  try {
    await mkdir(path, 0o700)
    return true
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return false
    throw error
  }
}

async function linkInShard({ newPath, shardPath }: DiskPlace) {
  try {
    await link(newPath, shardPath)
  } catch (error) {
    // EEXIST: an earlier move, or a put to an existing key, was interrupted here; the blob in the shard was there first.
    // ENOENT: the blob has just been deleted.
    if (codeOf(error) !== 'EEXIST' && codeOf(error) !== 'ENOENT') throw error
  }
}

/** Whether there was such a file. */
export async function unlinkIfThere(path: string) {
  try {
    await unlink(path)
    return true
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return false
    throw error
  }
}
