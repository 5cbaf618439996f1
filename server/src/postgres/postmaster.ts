import type { ChildProcess } from 'node:child_process'
import { link, open, readFile, readlink, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Site } from './binaries.ts'
import { isAlive } from './cluster.ts'
import type { Directories } from './directories.ts'
import { spawnGuarded } from './run.ts'
import { postgresArguments } from './settings.ts'

/** The polling interval for states that PostgreSQL does not announce, in ms. */
export const POLL = 5

/** After this long, in ms, a fast shutdown becomes an immediate one; the next start then recovers from the log. */
const STOP_LIMIT = 60_000

/** PostgreSQL's main process as postmaster.pid describes it. `ready` is true until it has stopped. */
export type Postmaster = { pid: number; socketDirectory: string; ready: boolean }

/** Reads postmaster.pid; undefined when it is missing or incomplete. */
export async function readPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(cluster, 'postmaster.pid'), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  // The lines: pid, data directory, start time, port, socket directory, listen address, shared memory key, status.
  const lines = text.split('\n')
  const pid = Number(lines[0])
  if (!pid || lines[4] === undefined) return undefined
  return { pid, socketDirectory: lines[4], ready: lines[7]?.trim() === 'ready' }
}

/** Whether the process is the PostgreSQL of this data directory, and not another one that got its id after a crash. */
export async function isPostmaster(pid: number, cluster: string) {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return true
  // The data directory is PostgreSQL's working directory. The link of a zombie can't be read.
  return (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === cluster
}

/** Starts PostgreSQL. Its messages are appended to the log. */
export async function spawnPostmaster({ directories, binaries, account, fsync }: Site, socketDirectory: string) {
  await using log = await open(directories.log, 'a', 0o600)
  const args = postgresArguments(directories.cluster, socketDirectory, fsync)
  const child = await spawnGuarded(binaries.postgres, args, account, { stdout: log.fd, stderr: log.fd })
  child.unref()
  return child
}

export function hasExited(child: ChildProcess) {
  return child.exitCode !== null || child.signalCode !== null
}

/**
 * Moves a postmaster.pid aside whose process id now belongs to another program, since PostgreSQL would mistake that for
 * a running server. If the file has changed meanwhile, it is put back.
 */
export async function removeStale(cluster: string, stale: Postmaster) {
  if (!isAlive(stale.pid)) return
  const path = join(cluster, 'postmaster.pid')
  const aside = `${path}.${process.pid}`
  await rename(path, aside)
  if (Number.parseInt(await readFile(aside, 'utf8')) !== stale.pid) await link(aside, path)
  await rm(aside)
}

/**
 * Removes the lock file of a socket whose process id belongs to another program, or to a killed PostgreSQL that was not
 * reaped yet: PostgreSQL would refuse to start. If the process is gone, PostgreSQL removes the file itself.
 */
export async function removeStaleSocketLock(cluster: string, socketDirectory: string) {
  const path = join(socketDirectory, '.s.PGSQL.5432.lock')
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
  const pid = Number.parseInt(text)
  if (pid > 0 && isAlive(pid) && !(await isPostmaster(pid, cluster))) await rm(path, { force: true })
}

/** Stops PostgreSQL. Clients are disconnected; acknowledged transactions are on disk. */
export async function stopPostmaster(pid: number, directories: Directories) {
  const { cluster, home } = directories
  if (!(await isPostmaster(pid, cluster))) return
  const { socketDirectory } = (await readPostmaster(cluster)) ?? { socketDirectory: home }
  const started = performance.now()

  signal(pid, 'SIGINT')
  // Waits for the process, not for postmaster.pid, which PostgreSQL removes a moment earlier.
  for (let forced = false; await isPostmaster(pid, cluster); await pause(POLL)) {
    if (forced || performance.now() - started < STOP_LIMIT) continue
    forced = true
    signal(pid, 'SIGQUIT')
  }
  if (socketDirectory !== home) await removeSocketDirectory(socketDirectory)
}

function signal(pid: number, name: NodeJS.Signals) {
  try {
    process.kill(pid, name)
  } catch (error) {
    // ESRCH: it ended a moment ago.
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

/** Removes a socket directory outside of `home`, which was made because the path was too long. */
export async function removeSocketDirectory(directory: string) {
  if (!/^groundstate-\w{6}$/.test(directory.slice(dirname(directory).length + 1))) return
  await rm(directory, { recursive: true, force: true })
}
