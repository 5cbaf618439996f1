import { hash as hashOf } from 'node:crypto'
import type { Dir } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../error-code.ts'
import type { KeyPage } from './driver.ts'

/** Few, so that concurrent puts share the fsync of a directory. */
const DIRECTORIES = 16
/** Many, so that the listing of each stays short: with 10 million blobs a shard has 2,500. */
const SHELVES = 256
/** Prefix of shard directories. No blob's name has it: `~` replaces `/`, and no key starts with that. */
const SHELF_MARK = '~'
const PAGE = 500
/** How many names are in memory at once while a directory is read. */
const NAMES_AT_ONCE = 64

/** Possible paths of a blob: in `directory` (by its index) at first, in its shard later. */
export type DiskPlace = { directory: number; newPath: string; shard: string; shardPath: string }

/**
 * The paths of blobs: `objects/<directory>/<key>`, and later `objects/<directory>/~<shard>/<key>`, with `~` for `/` in the key. Hashes of
 * the key give directory and shard.
 */
export function diskPlaces(objects: string) {
  const directories = Array.from({ length: DIRECTORIES }, (_, n) => join(objects, n.toString(16)))

  function place(key: string): DiskPlace {
    const hash = hashOf('sha256', key, 'buffer')
    const directory = hash.readUInt8(0) % DIRECTORIES
    const path = directories[directory] ?? objects
    const name = key.replaceAll('/', '~')
    const shard = `${path}/${shardName(hash.readUInt8(1))}`
    return { directory, newPath: `${path}/${name}`, shard, shardPath: `${shard}/${name}` }
  }

  /** Directories and their shards in the order of listings, those after `cursor`: a blob moves from a directory to one of its shards. */
  function* listed(cursor: string): Generator<{ path: string; cursor: string }> {
    for (const [n, path] of directories.entries()) {
      const own = n.toString(16)
      if (own > cursor) yield { path, cursor: own }
      for (let shard = 0; shard < SHELVES; shard += 1) {
        const name = shardName(shard)
        if (`${own}/${name}` > cursor) yield { path: join(path, name), cursor: `${own}/${name}` }
      }
    }
  }

  async function* list(prefix: string, after = ''): AsyncGenerator<KeyPage> {
    // A directory is read again from its beginning: only a whole one moves the cursor.
    let cursor = after
    let keys: string[] = []
    for (const directory of listed(after)) {
      for await (const key of keysIn(directory.path)) {
        if (!key.startsWith(prefix)) continue
        keys.push(key)
        if (keys.length < PAGE) continue
        yield { keys, cursor }
        keys = []
      }
      cursor = directory.cursor
    }
    yield { keys, cursor }
  }

  return { directories, place, list, keysIn }
}

/** The keys of the blobs that are in a directory itself; none if it is missing. The directory may change meanwhile. */
async function* keysIn(directory: string): AsyncGenerator<string> {
  const opened = await openDirectory(directory)
  if (!opened) return
  for await (const { name } of opened) {
    if (!name.startsWith(SHELF_MARK)) yield name.replaceAll('~', '/')
  }
}

async function openDirectory(path: string): Promise<Dir | undefined> {
  try {
    return await opendir(path, { bufferSize: NAMES_AT_ONCE })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function shardName(shard: number) {
  return SHELF_MARK + shard.toString(16).padStart(2, '0')
}
