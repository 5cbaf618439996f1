import { randomBytes } from 'node:crypto'
import { mkdir, readdir, rm, stat } from 'node:fs/promises'
import { hostname } from 'node:os'
import { join } from 'node:path'
import { codeOf } from '../error-code.ts'

const STALE_MS = 24 * 3600 * 1000

/**
 * Makes this process a folder of its own for unfinished files, and removes those that dead processes left.
 *
 * A folder is named after its host and process. On this host it is dead when the process is gone, or is ourselves from
 * before (in a container every start has the same number); another host's is dead after a day. Processes share the parent, so
 * that there is nothing to lock.
 */
export async function claimTemporaryFolder(parent: string): Promise<string> {
  await mkdir(parent, { recursive: true, mode: 0o700 })
  for (const name of await readdir(parent)) {
    if (!(await isAlive(parent, name))) await rm(join(parent, name), { recursive: true, force: true })
  }
  const name = `${hostname()}.${process.pid}.${randomBytes(6).toString('hex')}`
  own.add(name)
  const folder = join(parent, name)
  await mkdir(folder, { mode: 0o700 })
  return folder
}

/** Folders that this very process holds: it may open several drivers. */
const own = new Set<string>()

async function isAlive(parent: string, name: string) {
  if (own.has(name)) return true
  const [, host, pid] = /^(.*)\.(\d+)\.[0-9a-f]+$/.exec(name) ?? []
  if (host === hostname()) return Number(pid) !== process.pid && isRunning(Number(pid))
  const folder = await stat(join(parent, name)).catch(() => undefined)
  return folder !== undefined && Date.now() - folder.mtimeMs < STALE_MS
}

function isRunning(pid: number) {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // Another user's process answers EPERM: it runs.
    return codeOf(error) === 'EPERM'
  }
}
