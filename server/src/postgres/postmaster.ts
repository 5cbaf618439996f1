import type { ChildProcess } from 'node:child_process'
import { link, open, readFile, readlink, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isAlive } from '@groundstate/agent/process/process-id'
import { codeOf, ignoring } from '../error-code.ts'
import type { ClaimedSite } from './binaries.ts'
import type { Directories, PostgresLog } from './directories.ts'
import { spawnGuarded } from './run.ts'

/** Interval for polling the state of PostgreSQL, in ms. */
export const POLL = 5

/** Time after which a wait is logged, in ms: recovery after a crash can take minutes. */
const SLOW = 5_000

/** Returns a function to call at each poll of a wait, which logs the message once the wait is slow, and says whether it is. */
export function createSlowNotice(log: PostgresLog, message: string) {
  const started = performance.now()
  let isSlow = false
  return () => {
    if (!isSlow && performance.now() - started > SLOW) {
      isSlow = true
      log.info(message)
    }
    return isSlow
  }
}

/** Time after which a fast shutdown becomes an immediate one, in ms; the next start then recovers from the log. */
const STOP_LIMIT = 60_000

/** PostgreSQL's main process according to postmaster.pid. */
type Postmaster = { pid: number; socketDirectory: string; status: 'starting' | 'ready' | 'stopping' | '' }

/** Reads postmaster.pid; undefined if it is missing or incomplete. */
export async function readPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const text = await readIfExists(join(cluster, 'postmaster.pid'))
  // The lines: pid, data directory, start time, port, socket directory, listen address, shared memory key, status.
  const lines = text.split('\n')
  const pid = Number(lines[0])
  if (!pid || lines[4] === undefined) return undefined
  return { pid, socketDirectory: lines[4], status: (lines[7]?.trim() ?? '') as Postmaster['status'] }
}

async function readIfExists(path: string) {
  return (await ignoring('ENOENT', readFile(path, 'utf8'))) ?? ''
}

/** Whether the process is the PostgreSQL of this data directory, not another one that reuses its id. */
export async function isPostmaster(pid: number, cluster: string) {
  if (!isAlive(pid)) return false
  if (process.platform !== 'linux') return true
  // The data directory is PostgreSQL's working directory. The link of a zombie cannot be read.
  return (await readlink(`/proc/${pid}/cwd`).catch(() => undefined)) === cluster
}

/** PostgreSQL's processes inherit the claim, which therefore ends after them: containers that do not see them must not start another one. */
export async function spawnPostmaster(site: ClaimedSite, socketDirectory: string) {
  const { directories, binaries, account, fsync, claim } = site
  await using log = await open(directories.log, 'a', 0o600)
  const args = postgresArguments(directories.cluster, socketDirectory, fsync)
  const child = await spawnGuarded(binaries.postgres, args, account, {
    stdout: log.fd,
    stderr: log.fd,
    fds: claim.fd === undefined ? [] : [claim.fd],
  })
  child.unref()
  return child
}

export function hasExited(child: ChildProcess) {
  return child.exitCode !== null || child.signalCode !== null
}

/**
 * Removes a postmaster.pid whose process id was reused by another program, which PostgreSQL would mistake for a running server. If the file has
 * changed, it is put back.
 */
export async function removeStale(cluster: string, stale: Postmaster) {
  if (!isAlive(stale.pid)) return
  const path = join(cluster, 'postmaster.pid')
  const aside = `${path}.${process.pid}`
  // A process that was stopping removes the file itself, and is a zombie until its parent waits for it.
  const isMoved = await ignoring(
    'ENOENT',
    rename(path, aside).then(() => true),
  )
  if (!isMoved) return
  if (Number.parseInt(await readFile(aside, 'utf8')) !== stale.pid) await link(aside, path)
  await rm(aside)
}

/**
 * Removes the lock file of a socket whose process id was reused by another program, or belongs to a zombie: PostgreSQL would not start. If
 * there is no such process, PostgreSQL removes the file itself.
 */
export async function removeStaleSocketLock(cluster: string, socketDirectory: string) {
  const path = join(socketDirectory, '.s.PGSQL.5432.lock')
  const pid = Number.parseInt(await readIfExists(path))
  if (pid > 0 && isAlive(pid) && !(await isPostmaster(pid, cluster))) await rm(path, { force: true })
}

/** Stops PostgreSQL and disconnects its clients. */
export async function stopPostmaster(pid: number, directories: Directories) {
  const { cluster, home } = directories
  if (!(await isPostmaster(pid, cluster))) return
  const { socketDirectory } = (await readPostmaster(cluster)) ?? { socketDirectory: home }
  const started = performance.now()

  signal(pid, 'SIGINT')
  // Waits for the process, since postmaster.pid is removed a little earlier.
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
    // ESRCH: it has just ended.
    if (codeOf(error) !== 'ESRCH') throw error
  }
}

/** Removes a directory of `openSocketDirectory` outside of `home`. */
export async function removeSocketDirectory(directory: string) {
  if (!/^groundstate-\w{6}$/.test(directory.slice(dirname(directory).length + 1))) return
  await rm(directory, { recursive: true, force: true })
}

/** Settings for a small machine that PostgreSQL shares with the application, with connections only through a local socket. */
function postgresArguments(cluster: string, socketDirectory: string, fsync: boolean) {
  const settings = {
    listen_addresses: '',
    unix_socket_directories: socketDirectory,
    unix_socket_permissions: '0700',
    port: '5432',
    max_connections: '100',
    // Used memory is never released, and the system caches the files as well.
    shared_buffers: '64MB',
    // A commit flushes the buffer, so it stays small.
    wal_buffers: '1MB',
    // Lock tables of serializable isolation, which is not used; they are allocated at the start.
    max_pred_locks_per_transaction: '10',
    work_mem: '8MB',
    maintenance_work_mem: '64MB',
    effective_cache_size: '512MB',
    max_wal_size: '512MB',
    fsync: fsync ? 'on' : 'off',
    synchronous_commit: fsync ? 'on' : 'off',
    full_page_writes: fsync ? 'on' : 'off',
    // Not useful for short queries on many connections; each costs processes or planning time.
    jit: 'off',
    io_method: 'sync',
    max_parallel_workers_per_gather: '0',
    max_logical_replication_workers: '0',
    autovacuum_max_workers: '2',
    // The application logs failed statements; values of rows must not get into this log.
    log_min_messages: 'log',
    log_checkpoints: 'off',
    log_line_prefix: '%m [%p] ',
  }
  return ['-D', cluster, ...Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])]
}
