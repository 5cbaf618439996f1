import { once } from 'node:events'
import { mkdir, readFile, realpath, writeFile } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { getCACertificates } from 'node:tls'
import manifest from '../package.json' with { type: 'json' }
import { claim, deregister, jobClient, openConnection, Refused, register, type Connection } from './client.ts'
import { openConfinement, type Confinement, type ConfinementOptions } from './confinement.ts'
import { findEngine } from './engine.ts'
import { runJob, type JobSettings } from './job.ts'
import { type Journal, readJournals } from './journal.ts'
import type { AgentLog } from './log.ts'
import { recoverJob } from './recover.ts'
import { openRunFolders } from './run-folder.ts'
import { serveTaskRequests } from './task-requests.ts'
import { startWatchdog, type Watchdog } from './watchdog.ts'
import { claimWorkDir } from './work-dir.ts'

const CLAIM_MS = 25_000
/** What the server gets to answer the claims that wait when the agent says goodbye, in ms. */
const GOODBYE_MS = 2_000
/** A claim that cannot succeed is not sent again at once, in ms. */
const AFTER_ERROR_MS = 1_000
/** A server that is away is mentioned no more often than this, in ms. */
const MENTION_MS = 10_000
const SWEEP_MS = 10 * 60_000

export type AgentOptions = ConfinementOptions & {
  /** Base URL of the server, such as `https://groundstate.example.com`. */
  serverUrl: string
  /** Base of the public API as engines call it; by default `api/v2/` below the server. */
  apiUrl?: string
  /** An agent token of the pool. */
  token: string
  name: string
  /** How many jobs run side by side. */
  concurrency: number
  /** What the agent takes: plans and applies, and the requests of run tasks of its pool; everything by default. */
  accepts?: readonly ('plan' | 'apply' | 'task')[]
  /** Holds working folders and caches; one running agent each. */
  workDir: string
  /** A terraform or tofu binary, or a folder of them; PATH otherwise. */
  enginePath?: string
  /** Refuse jobs whose exact engine version is not there, in place of running them with another. */
  strictEngineVersion?: boolean
  /** Where a log is cut off, in bytes. */
  logLimitBytes?: number
  /** How long and how many folders wait for their apply. */
  keepFoldersMs?: number
  keepFolders?: number
  log: AgentLog
  /** A PEM file with the authority that has signed the server's certificate, beside those that are known anyway. */
  caFile?: string
  /** Ends the agent: it takes no more jobs, and those under way get to finish. */
  signal: AbortSignal
  /** Ends the jobs under way as well: plans are handed back, applies interrupted. */
  forcefulSignal?: AbortSignal
  /** What jobs get to finish after `signal`, as if `forcefulSignal` came then, in ms; as long as they need by default. */
  drainTimeoutMs?: number
}

/**
 * Runs an agent until its signal aborts and its jobs have ended. While a slot is free a claim waits at the server. Rejects
 * when the server refuses the token, or when the working folder cannot be used.
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { token, log, signal } = options
  await mkdir(options.workDir, { recursive: true, mode: 0o700 })
  const workDir = await realpath(options.workDir)
  using stack = new DisposableStack()
  const claimed = stack.use(await claimWorkDir(workDir, signal))
  if (claimed === undefined) return
  const watchdog = stack.use(startWatchdog((error) => log.error({ error }, 'the watchdog could not be started')))
  const authorities = options.caFile === undefined ? undefined : await readAuthorities(options.caFile)
  const certificates = authorities === undefined ? undefined : join(workDir, 'authorities.pem')
  if (certificates !== undefined) await writeFile(certificates, authorities ?? '')
  const journals = await readJournals(workDir)
  const sparedUsers = new Set(journals.flatMap((journal) => journal.facts().folder?.uid ?? []))
  const site = { workDir, enginePath: options.enginePath, log, certificates, sparedUsers }
  const confinement = stack.use(await openConfinement(options, site))
  const connection = openConnection(options.serverUrl, authorities, mentionRetries(log))

  /** Aborts the claims that are left when the goodbye was not answered in time. */
  const gone = new AbortController()
  const failed = new AbortController()
  const stopping = AbortSignal.any([signal, failed.signal])
  const drained = new AbortController()
  const forceful = AbortSignal.any([drained.signal, options.forcefulSignal ?? drained.signal])
  const settings = await prepare(options, {
    workDir,
    connection,
    confinement,
    watchdog,
    certificates,
    forceful,
    journals,
  })
  const sweeping = setInterval(() => void settings.agent.folders.sweep(), SWEEP_MS)
  stack.defer(() => clearInterval(sweeping))
  try {
    const recovering = recoverAll(journals)
    let registration = announce()
    const loops = Array.from({ length: options.concurrency }, () => claimLoop().catch(fail))
    if (options.accepts?.includes('task') ?? true) loops.push(taskLoop().catch(fail))
    signal.addEventListener('abort', startDraining, { once: true })
    stack.defer(() => signal.removeEventListener('abort', startDraining))
    if (signal.aborted) startDraining()
    const goodbye = sayGoodbye()
    await Promise.all(loops)
    await recovering
    gone.abort()
    await goodbye
    failed.signal.throwIfAborted()

    /** What is not finished when the agent ends is left for its next start. */
    async function recoverAll(left: readonly Journal[]) {
      const ending = new AbortController()
      const onStop = () => setTimeout(() => ending.abort(), GOODBYE_MS).unref()
      stopping.addEventListener('abort', onStop)
      if (stopping.aborted) onStop()
      const recovery = { workDir, folders: settings.agent.folders, log, signal: ending.signal }
      await Promise.all(left.map((journal) => recoverJob(connection, journal, recovery)))
      stopping.removeEventListener('abort', onStop)
    }

    function announce() {
      const answer = register(connection, token, identity(options.name), stopping)
      // The loops look at it; but all of them may be at work.
      answer.catch(() => {})
      return answer
    }

    /** The server has forgotten this agent, after a restore for one: it introduces itself again, once for all loops. */
    function announceAgain(current: typeof registration) {
      if (registration === current) registration = announce()
    }

    async function taskLoop() {
      await serveTaskRequests({
        connection,
        token,
        waitMs: CLAIM_MS,
        log,
        registration: () => registration,
        onForgotten: announceAgain,
        stopping,
        gone: gone.signal,
        forceful,
      })
    }

    function fail(error: unknown) {
      const isRefused = error instanceof Refused && [401, 403].includes(error.status)
      if (!stopping.aborted) failed.abort(isRefused ? tokenRefused(error) : error)
    }

    async function claimLoop() {
      while (!stopping.aborted) {
        const current = registration
        const { agentId } = await current
        const warmRunIds = settings.agent.folders.warmRunIds()
        try {
          const job = await claim(connection, token, agentId, { waitMs: CLAIM_MS, warmRunIds, signal: gone.signal })
          if (job === undefined) continue
          if (stopping.aborted) await jobClient(connection, job).release(AbortSignal.timeout(job.leaseMs))
          else await runJob(connection, job, settings)
        } catch (error) {
          if (gone.signal.aborted) return
          if (error instanceof Refused && [401, 403].includes(error.status)) throw error
          if (error instanceof Refused && [404, 409, 410].includes(error.status)) announceAgain(current)
          else log.error({ error }, 'a claim failed')
          await delay(AFTER_ERROR_MS, undefined, { signal: stopping }).catch(() => {})
        }
      }
    }

    /** Only who asks the agent to end sets its jobs a deadline: with a token that was revoked they come to their own end. */
    function startDraining() {
      if (options.drainTimeoutMs === undefined) return
      const deadline = setTimeout(() => drained.abort(), options.drainTimeoutMs)
      stack.defer(() => clearTimeout(deadline))
    }

    async function sayGoodbye() {
      await aborted(stopping)
      const registered = await registration.catch(() => undefined)
      if (registered === undefined) return gone.abort()
      const { agentId } = registered
      const timeout = AbortSignal.timeout(GOODBYE_MS)
      await deregister(connection, token, agentId, timeout).catch((error: unknown) => {
        log.warn({ error }, 'the server did not hear that this agent stops')
      })
      await delay(timeout.aborted ? 0 : GOODBYE_MS, undefined, { signal: gone.signal }).catch(() => {})
      gone.abort()
    }
  } finally {
    await connection.dispatcher.close()
  }
}

type Parts = {
  workDir: string
  connection: Connection
  confinement: Confinement
  watchdog: Watchdog
  certificates: string | undefined
  forceful: AbortSignal
  journals: readonly Journal[]
}

async function prepare(options: AgentOptions, parts: Parts): Promise<JobSettings> {
  const { workDir, connection, confinement, watchdog, certificates, forceful, journals } = parts
  const schemaCache = join(workDir, 'schemas')
  await mkdir(schemaCache, { recursive: true, mode: 0o700 })
  const limits = { keepMs: options.keepFoldersMs ?? 24 * 3_600_000, keepCount: options.keepFolders ?? 50 }
  const roots = journals.map((journal) => journal.facts().folder?.root).filter((root) => root !== undefined)
  const folders = await openRunFolders(workDir, limits, { ...confinement, inUse: new Set(roots) })
  const search = { enginePath: options.enginePath, strict: options.strictEngineVersion ?? false }
  // Asks the engine for its version now, so that the first job need not wait for the answer.
  void findEngine({ product: 'terraform', version: 'latest' }, search).catch(() => {})
  const apiUrl = options.apiUrl ?? `${connection.serverUrl}/api/v2/`
  return {
    agent: {
      apiUrl,
      folders,
      launcher: confinement.launcher,
      watchdog,
      confinement,
      hooks: options.hooks,
      schemaCache,
      certificates,
    },
    workDir,
    search,
    logLimitBytes: options.logLimitBytes ?? 64 * 1024 * 1024,
    log: options.log,
    forceful,
  }
}

/** The file's authorities and those that are known anyway, as PEM. */
async function readAuthorities(caFile: string): Promise<string> {
  const own = await readFile(caFile, 'utf8')
  return [...getCACertificates('default'), own].join('\n')
}

/** Mentions that the server is away, but not for every attempt of every loop. */
function mentionRetries(log: AgentLog) {
  let mentionedAt = -MENTION_MS
  return (reason: string) => {
    if (performance.now() - mentionedAt < MENTION_MS) return
    mentionedAt = performance.now()
    log.warn({ reason }, 'request is sent again')
  }
}

function tokenRefused(error: Refused) {
  const why = 'the server does not accept the agent token: it is wrong, was revoked, or its pool was deleted'
  return new Error(`${why} (${error.message})`, { cause: error })
}

function identity(name: string) {
  return { name, version: manifest.version, os: platform(), arch: arch() }
}

async function aborted(signal: AbortSignal) {
  if (!signal.aborted) await once(signal, 'abort')
}
