import { hash as hashOf } from 'node:crypto'
import type { Dir } from 'node:fs'
import { opendir } from 'node:fs/promises'
import { join } from 'node:path'
import { codeOf } from '../error-code.ts'
import type { KeyPage } from './driver.ts'

/** Few, so that concurrent puts share the fsync of a folder. */
const FOLDERS = 16
/** Many, so that the listing of each stays short: with 10 million blobs a shelf has 2,500. */
const SHELVES = 256
/** Begins the name of a shelf. No name of a blob does: `~` stands for `/`, and no key begins with that. */
const SHELF_MARK = '~'
const PAGE = 500
/** How many names are in memory at once while a folder is read. */
const NAMES_AT_ONCE = 64

/** Where a blob may be. It is in `folder` (by its index) when it has just been put, and on its shelf later. */
export type DiskPlace = { folder: number; newPath: string; shelf: string; shelfPath: string }

/**
 * The paths of blobs: `objects/<folder>/<key>`, and later `objects/<folder>/~<shelf>/<key>`, with `~` for `/` in the key. Hashes of
 * the key give folder and shelf.
 */
export function diskPlaces(objects: string) {
  const folders = Array.from({ length: FOLDERS }, (_, n) => join(objects, n.toString(16)))

  function place(key: string): DiskPlace {
    const hash = hashOf('sha256', key, 'buffer')
    const folder = hash.readUInt8(0) % FOLDERS
    const path = folders[folder] ?? objects
    const name = key.replaceAll('/', '~')
    const shelf = `${path}/${shelfName(hash.readUInt8(1))}`
    return { folder, newPath: `${path}/${name}`, shelf, shelfPath: `${shelf}/${name}` }
  }

  /** Folders and their shelves in the order of listings, those after `cursor`: a blob moves from a folder to one of its shelves. */
  function* listed(cursor: string): Generator<{ path: string; cursor: string }> {
    for (const [n, path] of folders.entries()) {
      const own = n.toString(16)
      if (own > cursor) yield { path, cursor: own }
      for (let shelf = 0; shelf < SHELVES; shelf += 1) {
        const name = shelfName(shelf)
        if (`${own}/${name}` > cursor) yield { path: join(path, name), cursor: `${own}/${name}` }
      }
    }
  }

  async function* list(prefix: string, after = ''): AsyncGenerator<KeyPage> {
    // A folder is read again from its beginning: only a whole one moves the cursor.
    let cursor = after
    let keys: string[] = []
    for (const folder of listed(after)) {
      for await (const key of keysIn(folder.path)) {
        if (!key.startsWith(prefix)) continue
        keys.push(key)
        if (keys.length < PAGE) continue
        yield { keys, cursor }
        keys = []
      }
      cursor = folder.cursor
    }
    yield { keys, cursor }
  }

  return { folders, place, list, keysIn }
}

/** The keys of the blobs that are in a folder itself; none if it is missing. The folder may change meanwhile. */
async function* keysIn(folder: string): AsyncGenerator<string> {
  const opened = await openFolder(folder)
  if (!opened) return
  for await (const { name } of opened) {
    if (!name.startsWith(SHELF_MARK)) yield name.replaceAll('~', '/')
  }
}

async function openFolder(path: string): Promise<Dir | undefined> {
  try {
    return await opendir(path, { bufferSize: NAMES_AT_ONCE })
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return undefined
    throw error
  }
}

function shelfName(shelf: number) {
  return SHELF_MARK + shelf.toString(16).padStart(2, '0')
}
