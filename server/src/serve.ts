import { realpath } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { runAgent } from '@groundstate/agent/agent/agent'
import { requireHooks, requireMirrors } from '@groundstate/agent/isolation/confinement'
import { WorkDirInUseError } from '@groundstate/agent/isolation/work-dir'
import { createAgentLog } from '@groundstate/agent/log'
import { listenProblem } from '@groundstate/agent/process/errors'
import { sharedOptions } from '@groundstate/agent/settings/shared-settings'
import { TracingError } from '@groundstate/agent/tracing/settings'
import { startTracing } from '@groundstate/agent/tracing/tracing'
import manifest from '../package.json' with { type: 'json' }
import { openAgentDirectory } from './agent-directory.ts'
import { createApp } from './app.ts'
import { SYSTEM } from './auth/actor.ts'
import { requireNoRestore } from './backup/restore.ts'
import type { Config } from './config.ts'
import { migrate } from './db/migrate.ts'
import { startDeliveries } from './deliveries/loop.ts'
import { requireUser } from './directory.ts'
import { messageOf } from './error-code.ts'
import { createBuiltInAgentToken } from './features/agents/agent-pools/service.ts'
import { JOBS, LOADERS, REACTIONS, ROUTES } from './features/list.ts'
import { startNotificationDeliveries } from './features/notifications/notifications/delivery-loop.ts'
import { REPORT_CONNECTIONS, reportQueue } from './features/repositories/commit-statuses/send.ts'
import { startLeaseReaper } from './features/runs/agent-jobs/reap-leases.ts'
import { ensureIdentityKey } from './features/runs/identity-keys/service.ts'
import { ensureAdmin } from './features/site/admin/users.ts'
import { startTaskDeliveries } from './features/tasks/task-results/delivery-loop.ts'
import { createServer } from './http/server.ts'
import { giveBackIdleMemory } from './idle-memory.ts'
import { createInstallationCheck, requireSameInstallation } from './installation.ts'
import { type Log, createLog } from './log.ts'
import { closedDirectory, findSystemAccount } from './postgres/account.ts'
import { readPointer } from './postgres/directories.ts'
import { startPostgres } from './postgres/postgres.ts'
import type { Fence } from './signals.ts'
import { StartError } from './start-error.ts'
import { loadTls } from './tls/tls.ts'

/** Time limit for the end of a server on an external database, after its jobs, in ms. */
const STOP_TIMEOUT_MS = 30_000

/** Values for the start message. */
export type Started = {
  baseUrl: string
  admin: Awaited<ReturnType<typeof ensureAdmin>>
  caFile: string | undefined
  /** Path of the embedded database if it is outside of the data directory, and the directory that its user cannot enter. */
  movedDatabase: { home: string; closed: string | undefined } | undefined
  /** The reason why the built-in agent does not run although it should. */
  agentProblem: string | undefined
}

/**
 * Runs a server until `signal` aborts: database, migrations, first administrator, HTTP, background jobs and the built-in agent. On abort, it
 * serves requests of the agent's jobs until they finish or `drainTimeout` passes. Interrupted background jobs run again in another process.
 */
export async function serve(
  config: Config,
  options: {
    signal: AbortSignal
    onReady: (started: Started) => void
    /** See `Fence`. */
    onRefused: Fence['onRefused']
  },
) {
  const { isTTY } = process.stderr
  const log = createLog(2, { level: config.logLevel ?? (isTTY ? 'warn' : 'info'), readable: isTTY })
  await using stack = new AsyncDisposableStack()
  stack.use(await traceServer(log))

  // Root can write there, but what it writes the other user cannot read at the next start.
  await requireUser(config.dataDir, { acceptsNew: true })
  await requireNoRestore(config.dataDir)
  const databaseUrl = config.databaseUrl ?? stack.use(await startPostgres({ dataDir: config.dataDir, log })).url
  const directUrl = config.databaseDirectUrl
  await migrate(directUrl ?? databaseUrl, {
    afterwards: (client) => requireSameInstallation(client, config),
    warn: (line) => log.warn(line),
  })

  const fence = { admit: await createInstallationCheck(config), onRefused: options.onRefused }
  const tls = await loadTls(config)
  const runsJobs = config.role !== 'api'
  const agentWorkDir = config.agents > 0 && runsJobs ? await openAgentDirectory(config) : undefined
  const { baseUrl = '' } = config
  const app = stack.use(
    await createApp(config, { databaseUrl, directUrl, baseUrl, log, runsJobs, reactions: REACTIONS, fence }),
  )
  await app.jobs.declare(JOBS)

  const opened = Promise.withResolvers<void>()
  const server = await createServer(app, { routes: ROUTES, loaders: LOADERS }, { https: tls, opened: opened.promise })
  const { port } = await listen(server.fastify, config)
  stack.defer(() => server.fastify.close())
  const origin = `${tls ? 'https' : 'http'}://${urlHost(config.host)}:${port}`
  if (config.baseUrl === undefined) app.baseUrl = origin
  app.loopbackServer.open({ baseUrl: app.baseUrl, origin, certificate: tls?.cert })

  const ctx = { ...app, actor: SYSTEM }
  await ensureIdentityKey(app)
  // After all that may fail: the password is shown once, and must not be lost in a failed start.
  const admin = await ensureAdmin(ctx)
  opened.resolve()
  if (runsJobs) {
    await app.jobs.start(ctx, JOBS)
    stack.use(startLeaseReaper(ctx))
    stack.use(startTaskDeliveries(ctx))
    stack.use(startDeliveries(ctx, reportQueue, REPORT_CONNECTIONS))
    stack.use(startNotificationDeliveries(ctx))
  }

  const agentStops = new AbortController()
  // Without its agent, the server continues: runs wait and report that no agent is online.
  const agentProblem = agentWorkDir === undefined ? undefined : await findAgentProblem(config)
  if (agentProblem !== undefined) log.error(`the built-in agent does not run: ${agentProblem}`)
  const agent =
    agentWorkDir !== undefined && agentProblem === undefined
      ? runAgent({
          serverUrl: origin,
          token: await createBuiltInAgentToken(ctx),
          name: 'built-in',
          ...sharedOptions(config),
          hiddenDirectories: [config.dataDir],
          // Task requests go to agent pools of organizations, which the built-in pool is not.
          accepts: ['plan', 'apply', 'policy'],
          logLimitBytes: config.logLimit,
          workDir: agentWorkDir,
          log: createAgentLog(log),
          signal: agentStops.signal,
          drainTimeoutMs: config.drainTimeout,
          ...(tls?.caFile !== undefined && { caFile: tls.caFile }),
        }).catch((error: unknown) => {
          if (!(error instanceof WorkDirInUseError)) return log.error({ err: error }, 'the built-in agent has stopped')
          log.error(
            `the built-in agent does not run: another server uses GROUNDSTATE_DATA_DIR ${config.dataDir}, ${error.owner}; set GROUNDSTATE_AGENTS=0 ` +
              'for all but one of the servers with one data directory, or give this one another',
          )
        })
      : Promise.resolve()

  const home = config.databaseUrl === undefined ? await readPointer(config.dataDir) : undefined
  const closed = home && (await closedDirectory(await findSystemAccount(), await realpath(config.dataDir)))
  const movedDatabase = home === undefined ? undefined : { home, closed }
  options.onReady({ baseUrl: app.baseUrl, admin, caFile: tls?.caFile, movedDatabase, agentProblem })
  log.info({ baseUrl: app.baseUrl, role: config.role }, 'ready')
  stack.use(giveBackIdleMemory())

  await aborted(options.signal)
  log.info('draining')
  agentStops.abort()
  await agent
  const end = async () => {
    await using _ = stack.move()
    if (runsJobs) await app.jobs.stop(5000)
  }
  // The embedded database ends with the server, however long that takes.
  if (config.databaseUrl === undefined) return await end()
  // Statements may wait for an unreachable database for minutes. Other servers continue their work, as after a kill.
  const isInTime = await Promise.race([end().then(() => true), delay(STOP_TIMEOUT_MS, false, { ref: false })])
  if (!isInTime) log.warn('stopped before all work had ended')
}

/** The reason why the agent could not use the directories of its settings. */
async function findAgentProblem({ hooks, providerMirror }: Config) {
  try {
    await requireHooks({ hooks })
    // Whether runs have users is known only to the agent, which checks that itself.
    await requireMirrors({ providerMirrors: providerMirror }, { hasRunUsers: false })
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

async function traceServer(log: Log) {
  const service = { name: 'groundstate', version: manifest.version, warn: log.warn.bind(log) }
  return startTracing(process.env, service).catch((error: unknown) => {
    throw error instanceof TracingError ? new StartError(error.message, { cause: error }) : error
  })
}

/** Replaces a wildcard address, to which no client can connect. */
function urlHost(host: string) {
  if (host === '0.0.0.0') return '127.0.0.1'
  if (host === '::') return '[::1]'
  return host.includes(':') ? `[${host}]` : host
}

async function listen(server: Awaited<ReturnType<typeof createServer>>['fastify'], config: Config) {
  await server.listen({ host: config.host, port: config.port }).catch((error: unknown) => {
    const problem = listenProblem(error, config, { host: 'GROUNDSTATE_HOST', port: 'GROUNDSTATE_PORT' })
    throw problem === undefined ? error : new StartError(problem, { cause: error })
  })
  const address = server.server.address()
  if (address === null || typeof address === 'string') throw new Error('the server listens on no port')
  return address
}

async function aborted(signal: AbortSignal) {
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
}
