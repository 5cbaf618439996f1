import { hash as hashOf } from 'node:crypto'
import { link, mkdir, opendir, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { syncDirectory } from '../durable-file.ts'
import { codeOf, ignoring } from '../error-code.ts'
import type { KeyPage } from './driver.ts'

/** Few, so that concurrent puts share the fsync of a directory. */
const DIRECTORIES = 16
/** Many, so that each stays short: with 10 million blobs a shard has 2,500. */
const SHARDS = 256
/** Prefix of shard directories. No file of a blob starts with it: `~` replaces `/` in keys, and no key starts with `/`. */
const SHARD_PREFIX = '~'
const PAGE_SIZE = 500
/** Number of directory entries buffered while a directory is read. */
const DIRECTORY_BUFFER = 64

/** Number of blobs moved per batch, with one fsync for each of their shards. */
const BATCH = 256

/** Paths of a blob: `newPath` in a directory (by index), and `shardPath` once the blob was moved to its shard. */
export type DiskLocation = { directory: number; newPath: string; shard: string; shardPath: string }

/**
 * Paths of blobs: `objects/<directory>/<key>`, later `objects/<directory>/~<shard>/<key>`, with `~` for `/` in the key. A hash of the key
 * determines both.
 */
export function diskLayout(objects: string) {
  const directories = Array.from({ length: DIRECTORIES }, (_, n) => join(objects, n.toString(16)))

  function locate(key: string): DiskLocation {
    const hash = hashOf('sha256', key, 'buffer')
    const directory = hash.readUInt8(0) % DIRECTORIES
    const path = directories[directory] ?? objects
    const name = key.replaceAll('/', '~')
    const shard = `${path}/${shardName(hash.readUInt8(1))}`
    return { directory, newPath: `${path}/${name}`, shard, shardPath: `${shard}/${name}` }
  }

  /** The directories after `cursor`, each before its shards: a blob that moves during a listing is not missed. */
  function* directoriesAfter(cursor: string) {
    for (const [n, path] of directories.entries()) {
      const parent = n.toString(16)
      if (parent > cursor) yield { path, cursor: parent }
      for (let shard = 0; shard < SHARDS; shard += 1) {
        const name = shardName(shard)
        if (`${parent}/${name}` > cursor) yield { path: join(path, name), cursor: `${parent}/${name}` }
      }
    }
  }

  async function* list(prefix: string, after = ''): AsyncGenerator<KeyPage> {
    // The cursor moves only past whole directories; an interrupted one is read again from its beginning.
    let cursor = after
    let keys: string[] = []
    for (const directory of directoriesAfter(after)) {
      for await (const key of keysIn(directory.path)) {
        if (!key.startsWith(prefix)) continue
        keys.push(key)
        if (keys.length < PAGE_SIZE) continue
        yield { keys, cursor }
        keys = []
      }
      cursor = directory.cursor
    }
    yield { keys, cursor }
  }

  /**
   * The shards in the order of their paths, each with the sorted keys of its blobs, moved or not. Like a listing, it misses none that moves
   * meanwhile.
   */
  async function* listShards(): AsyncGenerator<ShardPage> {
    for (const [n, path] of directories.entries()) {
      const unmoved = new Map<string, string[]>()
      for await (const key of keysIn(path)) {
        const { shard } = locate(key)
        const keys = unmoved.get(shard)
        if (keys) keys.push(key)
        else unmoved.set(shard, [key])
      }
      for (let number = 0; number < SHARDS; number += 1) {
        const shard = `${path}/${shardName(number)}`
        const keys = new Set(unmoved.get(shard))
        for await (const key of keysIn(shard)) keys.add(key)
        if (keys.size > 0) yield { shard: `${n.toString(16)}/${shardName(number)}`, keys: [...keys].toSorted() }
      }
    }
  }

  return { directories, locate, list, listShards }
}

/** A shard by its path below `objects`, and the keys of its blobs. */
export type ShardPage = { shard: string; keys: readonly string[] }

/** The keys of the blobs directly in a directory; none if it is missing. */
export async function* keysIn(directory: string): AsyncGenerator<string> {
  const entries = await ignoring('ENOENT', opendir(directory, { bufferSize: DIRECTORY_BUFFER }))
  if (!entries) return
  for await (const { name } of entries) {
    if (!name.startsWith(SHARD_PREFIX)) yield name.replaceAll('~', '/')
  }
}

function shardName(shard: number) {
  return SHARD_PREFIX + shard.toString(16).padStart(2, '0')
}

/**
 * Moves blobs put before `before` to their shards until `signal` aborts; returns how many. Reads try `newPath` before `shardPath`, and a blob
 * gets its second name before it loses the first. So the move may be killed at any time, and processes may run it concurrently.
 */
export async function moveToShards(
  { directories, locate }: ReturnType<typeof diskLayout>,
  before: Date,
  signal: AbortSignal,
) {
  let moved = 0
  for (const directory of directories) {
    let batch: DiskLocation[] = []
    for await (const key of keysIn(directory)) {
      if (signal.aborted) return moved
      batch.push(locate(key))
      if (batch.length < BATCH) continue
      const began = performance.now()
      moved += await moveBatch(directory, batch, before)
      batch = []
      // Leaves half of the time to puts and reads.
      await pause(performance.now() - began, undefined, { signal, ref: false }).catch(() => {})
    }
    moved += await moveBatch(directory, batch, before)
  }
  return moved
}

/** Moves one blob to its shard, if it is not there yet. */
export async function moveToShard(directory: string, location: DiskLocation) {
  await moveBatch(directory, [location], new Date(8.64e15))
}

async function moveBatch(directory: string, batch: readonly DiskLocation[], before: Date) {
  const files = await Promise.all(batch.map(async ({ newPath }) => statIfExists(newPath)))
  const due = batch.filter((_, index) => (files[index]?.mtime ?? before) < before)
  if (due.length === 0) return 0
  const shards = [...new Set(due.map(({ shard }) => shard))]
  const created = await Promise.all(shards.map(async (path) => mkdirIfMissing(path)))
  await Promise.all(due.map(linkInShard))
  // Without these syncs, a power cut could keep the unlink and lose the link.
  if (created.includes(true)) await syncDirectory(directory)
  await Promise.all(shards.map(syncDirectory))
  await Promise.all(due.map(async ({ newPath }) => unlinkIfExists(newPath)))
  await syncDirectory(directory)
  return due.length
}

/** Returns whether it created the directory. */
async function mkdirIfMissing(path: string) {
  const created = await ignoring(
    'EEXIST',
    mkdir(path, 0o700).then(() => true),
  )
  return created ?? false
}

async function linkInShard({ newPath, shardPath }: DiskLocation) {
  try {
    await link(newPath, shardPath)
  } catch (error) {
    // EEXIST: an earlier move or a put to an existing key was interrupted; the blob in the shard is older. ENOENT: the blob was deleted.
    if (codeOf(error) !== 'EEXIST' && codeOf(error) !== 'ENOENT') throw error
  }
}

/** Not the option `throwIfNoEntry`: the first releases of Node 24 ignore it here. */
export async function statIfExists(path: string) {
  return ignoring('ENOENT', stat(path))
}

/** Returns whether the file existed. */
export async function unlinkIfExists(path: string) {
  const deleted = await ignoring(
    'ENOENT',
    unlink(path).then(() => true),
  )
  return deleted ?? false
}
