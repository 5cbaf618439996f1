import { constants, type Stats } from 'node:fs'
import { open, readlink, realpath, type FileHandle } from 'node:fs/promises'
import { sep } from 'node:path'
import type { RunUser } from './run-users.ts'

/** More than this is no text that an agent reads whole, in bytes. */
const LARGEST_TEXT = 64 * 1024 * 1024
/** Linux: opens the place of a file, not the file, which has no effect on pipes and devices. Node has no name for it. */
const O_PATH = 0o10000000

export type ConfinedFile = AsyncDisposable & { handle: FileHandle; facts: Stats }
/** The folder of a run, and whose files are its own. */
export type Bounds = { root: string; user: Pick<RunUser, 'uid'> | undefined }

/**
 * Opens a file in a folder that a run may write, for reading; undefined when it is not there. A link that leaves the folder is
 * refused, and so is what is not the run's own: the agent may read more than the run, and must not read it on its behalf.
 */
export async function openConfined(path: string, bounds: Bounds): Promise<ConfinedFile | undefined> {
  if (process.platform !== 'linux') return openPlain(path)
  const place = await open(path, O_PATH).catch(unlessMissing)
  if (place === undefined) return undefined
  try {
    const facts = await place.stat()
    const real = await readlink(`/proc/self/fd/${place.fd}`)
    const inside = real.startsWith((await realpath(bounds.root)) + sep)
    const own = bounds.user === undefined || facts.uid === bounds.user.uid
    if (!facts.isFile() || !inside || !own) throw new Error(`${path} is not a file of the run`)
    const handle = await open(`/proc/self/fd/${place.fd}`, constants.O_RDONLY)
    return { handle, facts, [Symbol.asyncDispose]: () => handle.close() }
  } finally {
    await place.close()
  }
}

/** The whole of such a file; undefined when it is not there. */
export async function readConfined(path: string, bounds: Bounds): Promise<Buffer | undefined> {
  await using file = await openConfined(path, bounds)
  if (file === undefined) return undefined
  if (file.facts.size > LARGEST_TEXT) throw new Error(`${path} has more than ${LARGEST_TEXT} bytes`)
  return await file.handle.readFile()
}

async function openPlain(path: string): Promise<ConfinedFile | undefined> {
  const handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch(unlessMissing)
  if (handle === undefined) return undefined
  const facts = await handle.stat()
  if (facts.isFile()) return { handle, facts, [Symbol.asyncDispose]: () => handle.close() }
  await handle.close()
  throw new Error(`${path} is not a file of the run`)
}

function unlessMissing(error: unknown): undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code !== 'ENOENT' && code !== 'ENOTDIR') throw error
}
