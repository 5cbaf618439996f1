import type { ChildProcess } from 'node:child_process'
import { copyFile, readFile, stat, statfs, truncate } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { findAccount } from './account.ts'
import { findBinaries } from './binaries.ts'
import { openCluster } from './cluster.ts'
import { type Folders, openFolders, openSocketFolder } from './folders.ts'
import { connect, connectionString, createDatabase, isCutOff, lock, waitForStarter } from './owner.ts'
import {
  POLL,
  hasExited,
  isPostmaster,
  readPostmaster,
  removeSocketFolder,
  removeStale,
  removeStaleSocketLock,
  spawnPostmaster,
  stopPostmaster,
} from './postmaster.ts'
import { explainExit, lastLines } from './run.ts'
import { unavailable } from './unavailable.ts'
import type { Site, PostgresOptions } from './site.ts'

/** A running PostgreSQL of our own. `url` is a connection string for `pg` and libpq alike. Disposing stops it. */
export type Postgres = AsyncDisposable & { url: string }
/** PostgreSQL logs little; above this many bytes the log starts over, and one older part is kept. */
const MAX_LOG = 8 * 1024 * 1024
const LOG_CHECK = 60_000

/** With less free disk than this, in bytes, PostgreSQL cannot start: it writes its first records in whole pages and files. */
const MIN_FREE = 1024 * 1024

/** After a wait this long, in ms, the log says what is waited for: recovery after a crash can take minutes. */
const SLOW = 5_000

/** How long another process may stand in the way of a start, in ms: one that starts too, or the last ones of a killed PostgreSQL. */
const BUSY_PATIENCE = 10_000
const BUSY = /lock file "postmaster\.pid" already exists|pre-existing shared memory block/
/** `child` is PostgreSQL's process when this process has started it. */
type Session = { client: pg.Client; pid: number; socketFolder: string; child: ChildProcess | undefined }

/**
 * Starts the embedded PostgreSQL of a data folder, and makes sure that the database exists. Should PostgreSQL die, it is
 * started again; should this process die, PostgreSQL stops.
 *
 * Throws `PostgresUnavailable` with a message for the person at the terminal: no package for this platform, a data folder
 * of another major version or already in use by another server, a full disk.
 */
export async function startPostgres(options: PostgresOptions): Promise<Postgres> {
  const site = await prepare(options)
  let session = await own(site)
  const stop = new AbortController()

  // Replaces the session when PostgreSQL cut it: the lock is gone with it, and perhaps PostgreSQL itself.
  const recover = async () => {
    for (let attempt = 0; !stop.signal.aborted; attempt++) {
      site.log.warn('the connection to the embedded PostgreSQL is lost; starting it again')
      try {
        session = await own(site, session)
        session.client.once('end', recovering)
        return
      } catch (error) {
        site.log.warn(error instanceof Error ? error.message : String(error))
        await pause(Math.min(100 * 2 ** attempt, 5_000))
      }
    }
  }
  let recovery: Promise<void> | undefined
  const recovering = () => {
    if (!stop.signal.aborted) recovery = recover()
  }
  session.client.once('end', recovering)

  const logCheck = setInterval(() => void limitLog(site.folders.log), LOG_CHECK)
  logCheck.unref()

  return {
    url: connectionString(session.socketFolder),
    async [Symbol.asyncDispose]() {
      if (stop.signal.aborted) return
      stop.abort()
      clearInterval(logCheck)
      await recovery
      await stopPostmaster(session.pid, site.folders)
      await session.client.end().catch(() => undefined)
    },
  }
}

async function prepare(options: PostgresOptions): Promise<Site> {
  try {
    const account = await findAccount()
    const folders = await openFolders(options.dataDir, account, options.log)
    const binaries = await findBinaries(account)
    return { ...options, fsync: options.fsync ?? true, folders, binaries, account }
  } catch (error) {
    throw unavailable(`preparing ${options.dataDir}`, error)
  }
}

/**
 * Brings PostgreSQL up and takes the lock, which makes us the one who may stop it. The socket folder of a former session is
 * kept, since connection strings name it.
 */
async function own(site: Site, former?: Session): Promise<Session> {
  await openCluster(site.folders, site.binaries, site.account, site.fsync)
  const started = performance.now()
  try {
    for (;;) {
      const session = await reach(site, former)
      try {
        if (session.child !== undefined) {
          await lock(session.client, site.dataDir)
          await createDatabase(session.client)
          return session
        }
        await stopLeftOver(site, session)
      } catch (error) {
        await session.client.end().catch(() => undefined)
        // It stops when its server was killed, or when another server has found it without an owner.
        if (!isCutOff(error) || performance.now() - started > BUSY_PATIENCE) throw error
      }
    }
  } catch (error) {
    throw unavailable('starting PostgreSQL', error)
  }
}

/**
 * Stops the PostgreSQL of a server that was killed. Mostly it is stopping already; where it is not, it would outlive this
 * process too should that be killed.
 */
async function stopLeftOver(site: Site, { client, pid }: Session) {
  await waitForStarter(client)
  await lock(client, site.dataDir)
  site.log.info(`stopping the embedded PostgreSQL that a killed server left (process ${pid})`)
  await stopPostmaster(pid, site.folders)
  await client.end().catch(() => undefined)
}

/** Connects to the PostgreSQL that runs on the data folder, or starts one. */
async function reach(site: Site, former?: Session): Promise<Session> {
  const { cluster } = site.folders
  const socketFolder = former?.socketFolder
  const started = performance.now()
  for (let told = false; ; await pause(POLL)) {
    const patient = performance.now() - started < BUSY_PATIENCE
    const running = await readPostmaster(cluster)
    if (!running) {
      const session = await start(site, socketFolder, patient)
      if (session) return session
    } else if (running.ready) {
      const client = await connect(running.socketFolder)
      const isOurs = former?.child?.pid === running.pid && !hasExited(former.child)
      if (client) return { client, ...running, child: isOurs ? former.child : undefined }
    }
    if (running && !(await isPostmaster(running.pid, cluster))) {
      await removeStale(cluster, running)
      if (running.socketFolder !== socketFolder) await removeSocketFolder(running.socketFolder)
      const session = await start(site, socketFolder, patient)
      if (session) return session
    }
    if (!told && performance.now() - started > SLOW) {
      told = true
      site.log.info('waiting for the embedded PostgreSQL, which is starting or stopping')
    }
  }
}

/** Undefined when another process stands in the way and we are patient. */
async function start(site: Site, known: string | undefined, patient: boolean): Promise<Session | undefined> {
  const { cluster, log } = site.folders
  await limitLog(log)
  const logStart = await size(log)
  const socketFolder = known ?? (await openSocketFolder(site.folders.home, site.account))
  await removeStaleSocketLock(cluster, socketFolder)
  const child = await spawnPostmaster(site, socketFolder)

  const started = performance.now()
  for (let told = false; !hasExited(child); await pause(POLL)) {
    const postmaster = await readPostmaster(cluster)
    if (postmaster?.ready && postmaster.pid === child.pid) {
      const client = await connect(postmaster.socketFolder)
      if (client) return { client, ...postmaster, child }
    }
    if (!told && performance.now() - started > SLOW) {
      told = true
      site.log.info('the embedded PostgreSQL is starting; after a crash it first recovers, which can take minutes')
    }
  }

  if (known === undefined && socketFolder !== site.folders.home) await removeSocketFolder(socketFolder)
  const output = (await readFile(log)).subarray(logStart).toString()
  if (patient && BUSY.test(output)) return undefined
  throw new Error(
    explainExit(site.binaries.postgres, child.exitCode) ||
      lastLines(output) ||
      (await explainSilence(site.folders, child.exitCode)),
  )
}

/** A full disk takes no log either. */
async function explainSilence(folders: Folders, status: number | null) {
  const { bavail, bsize } = await statfs(folders.home)
  return bavail * bsize < MIN_FREE ? 'No space left on device' : `PostgreSQL ended with status ${status}`
}

/** PostgreSQL appends, so the file can be emptied below it. */
async function limitLog(log: string) {
  if ((await size(log)) <= MAX_LOG) return
  await copyFile(log, `${log}.1`)
  await truncate(log)
}

async function size(path: string) {
  return (await stat(path).catch(() => ({ size: 0 }))).size
}
