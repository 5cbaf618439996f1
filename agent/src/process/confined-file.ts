import { type Stats, statSync } from 'node:fs'
import * as fs from 'node:fs'
import { chmod, writeFile } from 'node:fs/promises'
import { sep } from 'node:path'
import { promisify } from 'node:util'
import type { RunUser } from './user-processes.ts'

const { O_RDONLY, O_NONBLOCK } = fs.constants

/** More than this is no text that an agent reads whole, in bytes. */
const LARGEST_TEXT = 64 * 1024 * 1024
/** Files up to this size, in bytes, are read synchronously: that is faster than a round trip through Node's thread pool. */
const SMALL_FILE = 256 * 1024
/** Linux: opens the place of a file, not the file, which has no effect on pipes and devices. Node has no name for it. */
const O_PATH = 0o10000000

/** An open file, by its descriptor. */
type ConfinedFile = Disposable & { fd: number; facts: fs.Stats }
/** The directory of a run, and whose files are its own. */
export type Bounds = { root: string; user: Pick<RunUser, 'uid'> | undefined }

/**
 * Opens a file in a directory that a run may write, for reading; undefined when it is not there. A link that leaves the directory is
 * refused, and so is what is not the run's own: the agent may read more than the run, and must not read it on its behalf.
 */
export function openConfined(path: string, bounds: Bounds): ConfinedFile | undefined {
  if (process.platform !== 'linux') return openPlain(path)
  using place = openPlace(path, bounds)
  if (place === undefined) return undefined
  if (!place.isOwn || !place.facts.isFile()) throw new Error(`${path} is not a file of the run`)
  return closing(openUnheld(`/proc/self/fd/${place.fd}`, path), place.facts)
}

/**
 * Opens a directory that a run may have replaced, on Linux: whatever becomes of the path, `/proc/self/fd/` leads to the one that was
 * looked at. Throws when it is not there, or not the run's own.
 */
export function openConfinedDirectory(path: string, bounds: Bounds): ConfinedFile {
  const place = openPlace(path, bounds)
  if (place?.isOwn === true && place.facts.isDirectory()) return place
  place?.[Symbol.dispose]()
  throw new Error(`${path} is not a directory of the run`)
}

/** The file at a path, and whether it belongs to the run and is in its directory. */
function openPlace(path: string, { root, user }: Bounds): (ConfinedFile & { isOwn: boolean }) | undefined {
  const fd = openThere(path, O_PATH)
  if (fd === undefined) return undefined
  const facts = fs.fstatSync(fd)
  const isInside = fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(fs.realpathSync.native(root) + sep)
  const isOwn = isInside && (user === undefined || facts.uid === user.uid)
  return { ...closing(fd, facts), isOwn }
}

/** The whole of such a file; undefined when it is not there. */
export async function readConfined(path: string, bounds: Bounds): Promise<Buffer | undefined> {
  using file = openConfined(path, bounds)
  if (file === undefined) return undefined
  if (file.facts.size > LARGEST_TEXT) throw new Error(`${path} has more than ${LARGEST_TEXT} bytes`)
  return await readWhole(file)
}

/** The bytes that a file had when it was opened. The run may make it grow meanwhile, to more than there is memory. */
export async function readWhole({ fd, facts: { size } }: ConfinedFile): Promise<Buffer> {
  const space = Buffer.alloc(size)
  let length = 0
  while (length < size) {
    const place = [fd, space, length, size - length, length] as const
    const count = size <= SMALL_FILE ? fs.readSync(...place) : (await readBeside(...place)).bytesRead
    if (count === 0) break
    length += count
  }
  return space.subarray(0, length)
}

const readBeside = promisify(fs.read)

function openPlain(path: string): ConfinedFile | undefined {
  const fd = openThere(path, O_RDONLY | O_NONBLOCK)
  if (fd === undefined) return undefined
  const file = closing(fd, fs.fstatSync(fd))
  if (file.facts.isFile()) return file
  file[Symbol.dispose]()
  throw new Error(`${path} is not a file of the run`)
}

/** A process of the run may hold a lease on its file: the system would let this process, and all its jobs, wait for 45 s. */
function openUnheld(place: string, path: string): number {
  try {
    return fs.openSync(place, O_RDONLY | O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'EAGAIN') throw new Error(`${path} is held by a process of the run`, { cause: error })
    throw error
  }
}

function closing(fd: number, facts: fs.Stats): ConfinedFile {
  return { fd, facts, [Symbol.dispose]: () => fs.closeSync(fd) }
}

function openThere(path: string, flags: number): number | undefined {
  try {
    return fs.openSync(path, flags)
  } catch (error) {
    const code = codeOf(error)
    if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
    return undefined
  }
}

function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

/** `stat` of a path, following links; undefined if absent or inaccessible. Synchronous, since the thread pool takes longer. */
export function factsOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch {
    return undefined
  }
}

/** Writes a file of the agent's own that the users of runs read, whatever the umask is. */
export async function writeForAll(path: string, text: string) {
  await writeFile(path, text)
  await chmod(path, 0o644)
}
