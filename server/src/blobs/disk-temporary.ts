import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../error-code.ts'

const STALE_MS = 24 * 3600 * 1000

/**
 * Creates a directory of this process for unfinished files, and removes the directories of dead processes.
 *
 * A directory is named after its host and process. On this host, its process is dead when the process id is gone, or is
 * our own id from an earlier start (in a container every start has the same one). A directory of another host counts as
 * dead after a day. Processes share the parent without a lock.
 */
export async function claimTemporaryDirectory(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  for (const name of await readdir(parent)) {
    if (!(await isAlive(parent, name))) await rm(join(parent, name), { recursive: true, force: true })
  }
  const name = `${hostname()}.${process.pid}.${randomBytes(6).toString('hex')}`
  own.add(name)
  const directory = join(parent, name)
  await mkdir(directory, { mode: 0o700 })
  return directory
}

/** Directories of this process, which may open several drivers. */
const own = new Set<string>()

async function isAlive(parent: string, name: string) {
  if (own.has(name)) return true
  const [, host, pid] = /^(.*)\.(\d+)\.[0-9a-f]+$/.exec(name) ?? []
  if (host === hostname()) return Number(pid) !== process.pid && isRunning(Number(pid))
  const directory = await stat(join(parent, name)).catch(() => undefined)
  return directory !== undefined && Date.now() - directory.mtimeMs < STALE_MS
}

function isRunning(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return codeOf(error) === 'EPERM'
  }
}
