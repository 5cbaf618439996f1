import { randomUUID } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { GitError } from '@groundstate/agent/git/errors'
import type { Actor } from './auth/actor.ts'
import { configuredStore, findMovedStore } from './blobs/blob-store.ts'
import { type Blobs, createBlobs } from './blobs/blobs.ts'
import { type ChangeFeed, createChangeFeed } from './changes/feed.ts'
import { createDatabaseClock } from './clock.ts'
import { type Config, isOnLoopback } from './config.ts'
import { type Db, type Tx, createDb } from './db/db.ts'
import { createConnectionPool } from './db/pool.ts'
import { flushTouches } from './db/throttled-touch.ts'
import { type Events, type Reaction, createEvents } from './events.ts'
import { newId } from './ids.ts'
import { type Jobs, createJobs } from './jobs/jobs.ts'
import type { Log } from './log.ts'
import { type LoopbackServer, createLoopbackServer } from './outbound/loopback-server.ts'
import { type Outbound, createOutbound } from './outbound/outbound.ts'
import { type Polls, createPolls } from './polls.ts'
import { openSecrets } from './secret-rotation/open.ts'
import { keyId } from './secrets/key-id.ts'
import { loadSecrets } from './secrets/secret-file.ts'
import type { Secrets } from './secrets/secrets.ts'
import { registerServer } from './servers.ts'
import { type Fence, type Signals, createSignals, poolSessionName } from './signals.ts'
import { HostError } from './vcs-hosts/host.ts'
import { type Workers, createWorkers } from './workers/workers.ts'

function isRemote(error: unknown) {
  return error instanceof HostError || error instanceof GitError
}

/** Infrastructure that every process creates once at start. Features are imported, not injected. */
export type App = {
  config: Config
  /** The address of this server for clients, without a trailing slash. */
  baseUrl: string
  db: Db
  jobs: Jobs
  /** The reactions of features to events of lower areas. */
  events: Events
  blobs: Blobs
  signals: Signals
  /** Queries that this process polls. */
  polls: Polls
  /** Recent changes, for open pages. */
  changes: ChangeFeed
  secrets: Secrets
  workers: Workers
  outbound: Outbound
  /** For requests of this server to itself. */
  loopbackServer: LoopbackServer
  log: Log
  /** The time of the database, which all replicas share. */
  now: () => Date
  newId: (prefix: string) => string
}

/** The context of service functions: the app, the actor, the origin of the request, and who shares connections with it (`callerId`). */
export type Ctx = App & { actor: Actor; request?: RequestOrigin; caller?: string | undefined }

/** A context whose `db` is an open transaction. `transact` creates it; functions that need a transaction require it. */
export type TransactionCtx = Ctx & { db: Tx }

/** The origin of a request, for the audit trail. */
export type RequestOrigin = { id: string; address: string; userAgent: string | undefined }

export type AppOptions = {
  databaseUrl: string
  /** The address of the database itself if `databaseUrl` is a pooler. */
  directUrl?: string | undefined
  baseUrl: string
  log: Log
  /** Whether this process runs background jobs. */
  runsJobs: boolean
  reactions: readonly Reaction[]
  fence?: Fence
}

/** One thread parses small documents, and one large ones (two with more than two processors). */
function workerThreads() {
  return Math.min(3, Math.max(2, availableParallelism()))
}

/** Creates the app on a migrated database. Tests pass their clock and ids in `overrides`. */
export async function createApp(
  config: Config,
  options: AppOptions,
  overrides: Partial<Pick<App, 'now' | 'newId'>> = {},
): Promise<App & AsyncDisposable> {
  await using stack = new AsyncDisposableStack()
  const secretSet = await loadSecrets(config)
  const { current, previous } = secretSet
  const { databaseUrl, directUrl, log, fence } = options
  const isPooled = directUrl !== undefined
  const prepares = config.databasePrepared ?? !isPooled
  const id = randomUUID()
  const applicationName = poolSessionName(id)
  const pool = createConnectionPool(databaseUrl, { max: config.databasePoolSize, isPooled, prepares, applicationName })
  const db = stack.adopt(createDb(pool), (connected) => connected.destroy())
  const polls = stack.use(createPolls(db, log))
  const clock = stack.use(await createDatabaseClock(db, log))
  polls.add(clock.polledQuery)
  const secrets = await openSecrets(db, secretSet)
  const movedFrom = await findMovedStore(config, secrets)
  const store = configuredStore(config)
  const blobs = stack.use(await createBlobs({ secret: current, previousSecrets: previous, store, movedFrom }))
  const signals = stack.use(
    await createSignals(directUrl ?? databaseUrl, {
      id,
      polls,
      log,
      secretIds: [current, ...previous].map((secret) => keyId(secret).readInt32BE()),
      ...fence,
    }),
  )
  stack.use(await registerServer({ db, signals, config, log }, fence?.onRefused))
  const changes = stack.use(createChangeFeed(signals))
  stack.defer(() => flushTouches(db))
  const jobs = stack.use(await createJobs({ pool, signals, polls, log, isRemote }, { runsJobs: options.runsJobs }))
  const workers = stack.use(createWorkers({ maxThreads: workerThreads() }))
  const loopbackServer = stack.use(createLoopbackServer())
  const outbound = stack.use(
    createOutbound({
      loopbackServer,
      allowPrivate: config.allowPrivateUrls ?? isOnLoopback(config),
      httpProxy: config.httpProxy,
      httpsProxy: config.httpsProxy,
      noProxy: config.noProxy,
    }),
  )
  const disposables = stack.move()
  return {
    config,
    baseUrl: options.baseUrl,
    db,
    jobs,
    events: createEvents(options.reactions),
    blobs,
    signals,
    polls,
    changes,
    secrets,
    workers,
    outbound,
    loopbackServer,
    log,
    now: clock.now,
    newId,
    ...overrides,
    [Symbol.asyncDispose]: () => disposables.disposeAsync(),
  }
}
