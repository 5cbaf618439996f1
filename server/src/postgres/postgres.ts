import type { ChildProcess } from 'node:child_process'
import { copyFile, readFile, stat, truncate } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { messageOf } from '../error-code.ts'
import { findSystemAccount } from './account.ts'
import { type ClaimedSite, type Site, findBinaries } from './binaries.ts'
import { openCluster } from './cluster.ts'
import { type Directories, openDirectories, openSocketDirectory, type PostgresOptions } from './directories.ts'
import {
  claimHome,
  connect,
  connectionString,
  createDatabase,
  isConnectionLost,
  lock,
  waitForStarter,
} from './owner.ts'
import {
  POLL,
  createSlowNotice,
  hasExited,
  isPostmaster,
  readPostmaster,
  removeSocketDirectory,
  removeStale,
  removeStaleSocketLock,
  spawnPostmaster,
  stopPostmaster,
} from './postmaster.ts'
import { explainExit, lastLines } from './run.ts'
import { isDiskFull, postgresFailure } from './unavailable.ts'

/** A running embedded PostgreSQL. `url` is a connection string for `pg` and libpq. Disposing stops it. */
export type Postgres = AsyncDisposable & { url: string }

/** Size at which the log is rotated, in bytes; one older copy is kept. */
const MAX_LOG = 8 * 1024 * 1024
const LOG_CHECK = 60_000

/** Maximum time to wait for another starting process, or for the last processes of a killed PostgreSQL, in ms. */
const BUSY_TIMEOUT = 10_000
const BUSY = /lock file "postmaster\.pid" already exists|pre-existing shared memory block/

/** `child` is PostgreSQL's process if this process started it. */
type Session = { client: pg.Client; pid: number; socketDirectory: string; child: ChildProcess | undefined }

/**
 * Starts the embedded PostgreSQL of a data directory, and creates the database if it is missing. PostgreSQL is restarted when it dies, and stops
 * when this process dies. Throws `PostgresUnavailable`: there is no package for this platform, the data directory has another major version
 * or is in use, the disk is full.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const prepared = await prepare(options)
  using starting = new DisposableStack()
  const site = { ...prepared, claim: starting.use(await claim(prepared)) }
  let session = await startAndLock(site)
  const claimed = starting.move()
  const stop = new AbortController()

  // Replaces a lost session. Its lock is lost as well, and PostgreSQL may have died.
  const recover = async () => {
    site.log.warn('lost the connection to the embedded PostgreSQL; restarting it')
    for (let attempt = 0, logged = ''; !stop.signal.aborted; attempt++) {
      try {
        session = await startAndLock(site, session)
        session.client.once('end', recovering)
        if (attempt > 0) site.log.info('the embedded PostgreSQL runs again')
        return
      } catch (error) {
        const { home } = site.directories
        const reason = (await isDiskFull(home))
          ? `the embedded PostgreSQL cannot start: the disk of ${home} is full; it starts once there is space`
          : messageOf(error)
        if (reason !== logged) site.log.warn(reason)
        logged = reason
        await pause(Math.min(100 * 2 ** attempt, 5_000))
      }
    }
  }
  let recovery: Promise<void> | undefined
  const recovering = () => {
    if (!stop.signal.aborted) recovery = recover()
  }
  session.client.once('end', recovering)

  const logCheck = setInterval(() => void limitLog(site.directories.log), LOG_CHECK)
  logCheck.unref()

  return {
    url: connectionString(session.socketDirectory),
    async [Symbol.asyncDispose]() {
      if (stop.signal.aborted) return
      stop.abort()
      clearInterval(logCheck)
      await recovery
      await stopPostmaster(session.pid, site.directories)
      await session.client.end().catch(() => undefined)
      claimed.dispose()
    },
  }
}

async function prepare(options: PostgresOptions): Promise<Site> {
  try {
    const account = await findSystemAccount()
    const directories = await openDirectories(options.dataDir, account, options.log)
    const binaries = await findBinaries(account, directories.home)
    return { ...options, fsync: options.fsync ?? true, directories, binaries, account }
  } catch (error) {
    throw postgresFailure(`preparing ${options.dataDir}`, error, options.dataDir)
  }
}

async function claim(site: Site) {
  try {
    return await claimHome(site)
  } catch (error) {
    throw postgresFailure(`preparing ${site.dataDir}`, error, site.dataDir)
  }
}

/** Starts PostgreSQL if needed and takes the lock. The socket directory of the previous session is reused, since connection strings contain it. */
async function startAndLock(site: ClaimedSite, former?: Session): Promise<Session> {
  await openCluster(site.directories, site.binaries, site.account, site.fsync)
  const started = performance.now()
  try {
    for (;;) {
      const session = await connectOrStart(site, former)
      try {
        if (session.child !== undefined) {
          await lock(session.client, site.dataDir)
          await createDatabase(session.client)
          return session
        }
        await stopAbandoned(site, session)
      } catch (error) {
        await session.client.end().catch(() => undefined)
        // PostgreSQL is stopping because its server was killed, or another server found it without an owner.
        if (isConnectionLost(error) && performance.now() - started < BUSY_TIMEOUT) continue
        // The claim must not end before it.
        if (session.child !== undefined) await stopPostmaster(session.pid, site.directories)
        throw error
      }
    }
  } catch (error) {
    throw postgresFailure('starting PostgreSQL', error)
  }
}

/** Stops the PostgreSQL of a killed server, which is usually stopping already. It would not stop if this process is killed. */
async function stopAbandoned(site: Site, { client, pid }: Session) {
  await waitForStarter(client)
  await lock(client, site.dataDir)
  site.log.info(`stopping the embedded PostgreSQL that a killed server left (process ${pid})`)
  await stopPostmaster(pid, site.directories)
  await client.end().catch(() => undefined)
}

/** Connects to the PostgreSQL that runs on the data directory, or starts one. */
async function connectOrStart(site: ClaimedSite, former?: Session): Promise<Session> {
  const { cluster } = site.directories
  const socketDirectory = former?.socketDirectory
  const started = performance.now()
  const noteSlowness = createSlowNotice(site.log, 'waiting for another PostgreSQL that is starting or stopping')
  for (let isSlow = false; ; await pause(isSlow ? POLL * 20 : POLL)) {
    const mayRetry = performance.now() - started < BUSY_TIMEOUT
    const running = await readPostmaster(cluster)
    if (!running) {
      const session = await start(site, socketDirectory, mayRetry)
      if (session) return session
    } else if (running.status === 'ready') {
      const isOurs = former?.child?.pid === running.pid && !hasExited(former.child)
      const isStuck = isOurs && isSlow && !(await hasStartupProcess(running.pid))
      const client = await connect(running.socketDirectory)
      if (client) return { client, ...running, child: isOurs ? former.child : undefined }
      if (isStuck) await stopPostmaster(running.pid, site.directories)
    }
    if (running && !(await isPostmaster(running.pid, cluster))) {
      await removeStale(cluster, running)
      if (running.socketDirectory !== socketDirectory) await removeSocketDirectory(running.socketDirectory)
      const session = await start(site, socketDirectory, mayRetry)
      if (session) return session
    }
    isSlow = noteSlowness()
  }
}

/**
 * Whether PostgreSQL is recovering from a crash. If a full disk ends its startup process, PostgreSQL may miss that and never accept connections
 * again. True where it cannot be known.
 */
async function hasStartupProcess(pid: number) {
  const children = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8').catch(() => undefined)
  if (children === undefined) return true
  const paths = children
    .trim()
    .split(' ')
    .map((child) => `/proc/${child}/cmdline`)
  const titles = await Promise.all(paths.map(async (path) => readFile(path, 'utf8').catch(() => '')))
  return titles.some((title) => title.startsWith('postgres: startup'))
}

/** Returns undefined if another process blocks the start and the start may be retried. */
async function start(site: ClaimedSite, known: string | undefined, mayRetry: boolean): Promise<Session | undefined> {
  const { cluster, log } = site.directories
  await limitLog(log)
  const logStart = await size(log)
  const socketDirectory = known ?? (await openSocketDirectory(site.directories.home, site.account))
  await removeStaleSocketLock(cluster, socketDirectory)
  const child = await spawnPostmaster(site, socketDirectory)

  const noteSlowness = createSlowNotice(
    site.log,
    'the embedded PostgreSQL is starting; recovery after a crash can take minutes',
  )
  for (; !hasExited(child); await pause(POLL)) {
    const postmaster = await readPostmaster(cluster)
    if (postmaster?.status === 'ready' && postmaster.pid === child.pid) {
      const client = await connect(postmaster.socketDirectory).catch(async (error: unknown) => {
        await stopPostmaster(postmaster.pid, site.directories)
        throw error
      })
      if (client) return { client, ...postmaster, child }
    }
    noteSlowness()
  }

  if (known === undefined && socketDirectory !== site.directories.home) await removeSocketDirectory(socketDirectory)
  const output = (await readFile(log)).subarray(logStart).toString()
  if (mayRetry && BUSY.test(output)) return undefined
  throw new Error(
    explainExit(site.binaries.postgres, child.exitCode) ||
      lastLines(output) ||
      (await explainWithoutOutput(site.directories, child.exitCode)),
  )
}

/** On a full disk, PostgreSQL cannot write its log either. */
async function explainWithoutOutput(directories: Directories, status: number | null) {
  return (await isDiskFull(directories.home)) ? 'No space left on device' : `PostgreSQL ended with status ${status}`
}

/** Rotates the log. PostgreSQL appends to it, so it can be truncated while open. */
async function limitLog(log: string) {
  if ((await size(log)) <= MAX_LOG) return
  await copyFile(log, `${log}.1`)
  await truncate(log)
}

async function size(path: string) {
  return (await stat(path).catch(() => ({ size: 0 }))).size
}

const QUIET = { info() {}, warn() {} }

/** The embedded PostgreSQL of a data directory, for a short task: that of a running server, or one that is stopped on disposal. */
export async function findPostgres(dataDir: string): Promise<Postgres> {
  const { cluster } = await openDirectories(dataDir, await findSystemAccount(), QUIET)
  const running = await readPostmaster(cluster)
  if (running?.status === 'ready' && (await isPostmaster(running.pid, cluster))) {
    return { url: connectionString(running.socketDirectory), async [Symbol.asyncDispose]() {} }
  }
  return startPostgres({ dataDir, log: QUIET })
}
