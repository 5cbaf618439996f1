import { execFile } from 'node:child_process'
import * as fs from 'node:fs'
import { chmod, link, lstat, open, readdir, rename, rm, writeFile } from 'node:fs/promises'
import { basename, join, sep } from 'node:path'
import { promisify } from 'node:util'
import { codeOf } from './errors.ts'
import type { RunUser } from './user-processes.ts'

const { O_RDONLY, O_NONBLOCK } = fs.constants

/** Maximum size of a file that the agent reads completely, in bytes. */
const MAX_TEXT_BYTES = 64 * 1024 * 1024
/** Files up to this size, in bytes, are read synchronously: that is faster than a round trip through Node's thread pool. */
const SMALL_FILE = 256 * 1024
const COPY_BYTES = 1024 * 1024
/** Linux: opens a path without opening the file, so that pipes and devices are not affected. Node does not define it. */
const O_PATH = 0o10000000

type ConfinedFile = Disposable & { fd: number; stats: fs.Stats }
/** The directory of a run, and the owner of its files. */
export type Bounds = { root: string; user: Pick<RunUser, 'uid'> | undefined }

/**
 * Opens a file in a directory that a run may write; undefined if it does not exist. Throws for a link out of the directory and a file of
 * another user: the agent must not read them on the run's behalf.
 */
export function openConfined(path: string, bounds: Bounds): ConfinedFile | undefined {
  if (process.platform !== 'linux') return openPlain(path)
  using place = openPlace(path, bounds)
  if (place === undefined) return undefined
  if (!place.stats.isFile()) throw notRegular(path)
  if (!place.isOwn) {
    const reason = 'it belongs to another user or is a link out of the directory of the run'
    throw new Error(`${basename(path)} is not a file of the run: ${reason}`)
  }
  return closing(openWithoutLease(`/proc/self/fd/${place.fd}`, path), place.stats)
}

/** Opens a directory of the run on Linux, or throws: `/proc/self/fd/` leads to the checked one even if the path changes later. */
export function openConfinedDirectory(path: string, bounds: Bounds): ConfinedFile {
  const place = openPlace(path, bounds)
  if (place?.isOwn === true && place.stats.isDirectory()) return place
  place?.[Symbol.dispose]()
  throw new Error(`${path} is not a directory of the run`)
}

/** The file at a path, and whether it belongs to the run and is in its directory. */
function openPlace(path: string, { root, user }: Bounds): (ConfinedFile & { isOwn: boolean }) | undefined {
  const fd = openExisting(path, O_PATH)
  if (fd === undefined) return undefined
  const stats = fs.fstatSync(fd)
  const isInside = fs.readlinkSync(`/proc/self/fd/${fd}`).startsWith(fs.realpathSync.native(root) + sep)
  const isOwn = isInside && (user === undefined || stats.uid === user.uid)
  return { ...closing(fd, stats), isOwn }
}

/** Reads a file as `openConfined` opens it. */
export async function readConfined(path: string, bounds: Bounds): Promise<Buffer | undefined> {
  using file = openConfined(path, bounds)
  if (file === undefined) return undefined
  if (file.stats.size > MAX_TEXT_BYTES) throw new Error(`${basename(path)} has more than ${MAX_TEXT_BYTES} bytes`)
  return await readWhole(file)
}

/** Reads as many bytes as the file had when it was opened: the run could let it grow beyond the memory. */
export async function readWhole({ fd, stats: { size } }: ConfinedFile): Promise<Buffer> {
  const space = Buffer.alloc(size)
  let length = 0
  while (length < size) {
    const place = [fd, space, length, size - length, length] as const
    const count = size <= SMALL_FILE ? fs.readSync(...place) : (await readAsync(...place)).bytesRead
    if (count === 0) break
    length += count
  }
  return space.subarray(0, length)
}

const readAsync = promisify(fs.read)

/**
 * Copies a file to a path, whose earlier file is replaced once the copy is complete. Links it there if the disk is full, so that processes with the
 * file open can still write it.
 */
export async function keepFile(file: ConfinedFile, path: string) {
  const draft = `${path}.draft`
  try {
    await copyWhole(file, draft).catch(async (error: unknown) => {
      if (!['ENOSPC', 'EDQUOT'].includes(codeOf(error)) || process.platform !== 'linux') throw error
      await rm(draft, { force: true })
      await link(fs.readlinkSync(`/proc/self/fd/${file.fd}`), draft)
      if ((await lstat(draft)).ino !== file.stats.ino) throw error
    })
    await rename(draft, path)
  } finally {
    await rm(draft, { force: true })
  }
}

/** Copies as many bytes as the file had when it was opened. Ranges of zeros become holes: a sparse file stays sparse. */
async function copyWhole({ fd, stats: { size } }: ConfinedFile, path: string) {
  await using copy = await open(path, 'w', 0o600)
  const [space, zeros] = [Buffer.alloc(COPY_BYTES), Buffer.alloc(COPY_BYTES)]
  let length = 0
  while (length < size) {
    const { bytesRead } = await readAsync(fd, space, 0, Math.min(COPY_BYTES, size - length), length)
    if (bytesRead === 0) break
    const isHole = space.subarray(0, bytesRead).equals(zeros.subarray(0, bytesRead))
    length += isHole ? bytesRead : (await copy.write(space, 0, bytesRead, length)).bytesWritten
  }
  await copy.truncate(length)
  await copy.sync()
}

/** Removes a directory that a run could write. Node fails for paths that are too long, and for directories without permissions. */
export async function removeTree(path: string) {
  await rm(path, { recursive: true, force: true }).catch(async () => {
    await promisify(execFile)('/bin/sh', ['-c', 'chmod -R u+rwX "$1"; rm -rf "$1"', 'sh', path])
  })
}

/** Disk space of a directory tree, in bytes; holes of sparse files need none. Infinite where it cannot be measured. */
export async function diskUsage(path: string): Promise<number> {
  try {
    const stats = await lstat(path)
    let bytes = stats.blocks * 512
    for (const name of stats.isDirectory() ? await readdir(path) : []) bytes += await diskUsage(join(path, name))
    return bytes
  } catch (error) {
    // Files are removed while it measures, such as those of the phase that has ended.
    return codeOf(error) === 'ENOENT' ? 0 : Infinity
  }
}

function openPlain(path: string): ConfinedFile | undefined {
  const fd = openExisting(path, O_RDONLY | O_NONBLOCK)
  if (fd === undefined) return undefined
  const file = closing(fd, fs.fstatSync(fd))
  if (file.stats.isFile()) return file
  file[Symbol.dispose]()
  throw notRegular(path)
}

/** Messages name a file without its directory, which is of the agent. */
function notRegular(path: string) {
  return new Error(`${basename(path)} is not a regular file`)
}

/** A process of the run may hold a lease on its file, on which a blocking open would stop this process for 45 s. */
function openWithoutLease(place: string, path: string): number {
  try {
    return fs.openSync(place, O_RDONLY | O_NONBLOCK)
  } catch (error) {
    if (codeOf(error) === 'EAGAIN')
      throw new Error(`${basename(path)} is held by a process of the run`, { cause: error })
    throw error
  }
}

function closing(fd: number, stats: fs.Stats): ConfinedFile {
  return { fd, stats, [Symbol.dispose]: () => fs.closeSync(fd) }
}

function openExisting(path: string, flags: number): number | undefined {
  try {
    return fs.openSync(path, flags)
  } catch (error) {
    if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error))) throw error
    return undefined
  }
}

/** `stat` of a path, following links; undefined if absent or inaccessible. Synchronous, since the thread pool takes longer. */
export function statsOf(path: string): fs.Stats | undefined {
  try {
    return fs.statSync(path)
  } catch {
    return undefined
  }
}

/** As `statsOf`, without following a link. */
export function linkStatsOf(path: string): fs.Stats | undefined {
  try {
    return fs.lstatSync(path)
  } catch {
    return undefined
  }
}

/** Writes a file of the agent that the users of runs may read, whatever the umask is. */
export async function writeWorldReadable(path: string, text: string) {
  await writeFile(path, text)
  await chmod(path, 0o644)
}
