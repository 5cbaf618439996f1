import type { Stats } from 'node:fs'
import { link, mkdir, open, readdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { STORE_ID } from '../blobs/blob-store.ts'
import { diskLayout, statIfExists } from '../blobs/disk-shards.ts'
import { heldDirectory } from '../blobs/hold.ts'
import { syncDirectory } from '../durable-file.ts'
import { ignoring } from '../error-code.ts'
import { SortedSums, SumsWriter } from './checksums.ts'
import { copyFile, copyOpenFile, forEachFile, type Watch } from './copy.ts'
import { BLOBS, SUMS } from './manifest.ts'

/** Blobs collected before they are copied, so that small shards are copied concurrently. */
const BATCH = 512

/** `previous` is a complete backup of the same store, whose files are linked: blobs never change. */
type Source = { root: string; previous: string | undefined }

/** Size of the blobs that the previous backup does not have, in bytes. */
export async function measureBlobs({ root, previous }: Source, { signal }: { signal: AbortSignal }) {
  const layout = diskLayout(join(root, 'objects'))
  let bytes = 0
  for await (const { shard, keys } of layout.listShards()) {
    await forEachFile(keys, async (key) => {
      signal.throwIfAborted()
      const { newPath, shardPath } = layout.locate(key)
      const file = (await statIfExists(newPath)) ?? (await statIfExists(shardPath))
      if (!file) return
      const before = previous && (await statIfExists(join(previous, BLOBS, 'objects', shard, basename(newPath))))
      if (!before || !isSame(file, before)) bytes += file.size
    })
  }
  return bytes
}

/** Times of copies are rounded to milliseconds. */
const TIME_TOLERANCE_MS = 2

/** Whether two files are copies of one blob: a key is written once, or again when the secret changes. */
function isSame(file: Stats, copy: Stats) {
  return file.size === copy.size && Math.abs(file.mtimeMs - copy.mtimeMs) < TIME_TOLERANCE_MS
}

/** A blob to copy; `path` is relative to the backup, `sha256` the checksum in the previous one. */
type Blob = { sources: readonly string[]; path: string; sha256: string | undefined }

/**
 * Copies all blobs to `<target>/blobs`, each to its shard. Deletions must be held (`holdDeletions`) from before the copied database's last
 * transaction. Returns how many were new, too.
 */
export async function copyBlobs({ root, previous }: Source, target: string, watch: Watch) {
  const layout = diskLayout(join(root, 'objects'))
  const held = heldDirectory(root)
  const objects = join(target, BLOBS, 'objects')
  await mkdir(join(target, BLOBS), { mode: 0o700 })
  await mkdir(objects, { mode: 0o700 })
  for (const directory of layout.directories) await mkdir(join(objects, basename(directory)), { mode: 0o700 })

  await using sums = await SumsWriter.create(join(target, SUMS.blobs))
  await using known = previous === undefined ? undefined : new SortedSums(join(previous, SUMS.blobs))
  const counts = { added: 0, addedBytes: 0 }

  const copy = async (blob: Blob) => {
    const path = join(target, blob.path)
    if (blob.sha256 !== undefined && previous !== undefined) {
      const size = await linkBlob(blob.sources, join(previous, blob.path), path)
      if (size !== undefined) return { sha256: blob.sha256, bytes: size }
    }
    const copied = await copyFirst(blob.sources, path, watch)
    if (copied) counts.added += 1
    counts.addedBytes += copied?.bytes ?? 0
    return copied
  }
  const flush = async (batch: readonly Blob[], shards: readonly string[]) => {
    const done = new Map<Blob, { sha256: string; bytes: number }>()
    await forEachFile(batch, async (blob) => {
      watch.signal.throwIfAborted()
      const copied = await copy(blob)
      if (copied) done.set(blob, copied)
    })
    for (const blob of batch) {
      const copied = done.get(blob)
      if (copied) await sums.add({ sha256: copied.sha256, path: blob.path }, copied.bytes)
    }
    for (const shard of shards) await syncDirectory(shard)
  }

  let batch: Blob[] = []
  let shards: string[] = []
  for await (const { shard, keys } of layout.listShards()) {
    const relative = `${BLOBS}/objects/${shard}`
    const before = await known?.in(relative)
    const directory = join(target, relative)
    await mkdir(directory, { mode: 0o700 })
    shards.push(directory)
    for (const key of keys) {
      const { newPath, shardPath } = layout.locate(key)
      const name = basename(newPath)
      const sources = [newPath, shardPath, join(held, name)]
      batch.push({ sources, path: `${relative}/${name}`, sha256: before?.get(name) })
    }
    if (batch.length < BATCH) continue
    await flush(batch, shards)
    batch = []
    shards = []
  }
  await flush(batch, shards)

  // Blobs that were deleted since the hold began, and are not copied yet.
  const late: Blob[] = []
  for (const name of (await ignoring('ENOENT', readdir(held))) ?? []) {
    const { shard } = layout.locate(name.replaceAll('~', '/'))
    const relative = `${BLOBS}/objects/${basename(join(shard, '..'))}/${basename(shard)}`
    await ignoring('EEXIST', mkdir(join(target, relative), { mode: 0o700 }))
    if (await statIfExists(join(target, relative, name))) continue
    late.push({ sources: [join(held, name)], path: `${relative}/${name}`, sha256: undefined })
  }
  await flush(late, [...new Set(late.map(({ path }) => join(target, path, '..')))])
  for (const directory of layout.directories) await syncDirectory(join(objects, basename(directory)))

  const id = await copyFile(join(root, STORE_ID), join(target, BLOBS, STORE_ID), watch)
  await sums.add({ sha256: id.sha256, path: `${BLOBS}/${STORE_ID}` }, id.bytes)
  await syncDirectory(objects)
  await syncDirectory(join(target, BLOBS))
  return { digest: await sums.end(), ...counts }
}

/** Links the blob of the previous backup if it is the same; undefined if it is not, or on a file system without links. Returns its size. */
async function linkBlob(sources: readonly string[], previous: string, path: string) {
  const before = await statIfExists(previous)
  const isUnchanged = before !== undefined && (await isAnySame(sources, before))
  const isLinked =
    isUnchanged &&
    (await link(previous, path).then(
      () => true,
      () => false,
    ))
  return isLinked ? before.size : undefined
}

async function isAnySame(sources: readonly string[], copy: Stats) {
  for (const source of sources) {
    const file = await statIfExists(source)
    if (file) return isSame(file, copy)
  }
  return false
}

/** Copies the first source that exists; undefined without one: a blob that was deleted before the hold began. */
async function copyFirst(sources: readonly string[], target: string, watch: Watch) {
  for (const source of sources) {
    await using file = await ignoring('ENOENT', open(source, 'r'))
    if (file) return await copyOpenFile(file, target, watch)
  }
  return undefined
}
