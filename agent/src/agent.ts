import { once } from 'node:events'
import { mkdir, readFile, stat } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { WORK_KINDS, type AgentJob, type WorkKind } from '@groundstate/contract/agent'
import manifest from '../package.json' with { type: 'json' }
import { keepAgentId, readAgentId } from './agent-id.ts'
import { knownAuthorities } from './authorities.ts'
import { claim, deregister } from './client.ts'
import { openConfinement, type Confinement, type ConfinementOptions } from './confinement.ts'
import { isTokenRefused, openConnection, Refused } from './connection.ts'
import type { DownloadSettings } from './engine-download.ts'
import { listEngines, type EngineSearch } from './engine.ts'
import { createGateway, type Gateway } from './gateway.ts'
import { watchIdleness } from './idleness.ts'
import { jobClient } from './job-client.ts'
import { runJob, type JobSettings, type Next } from './job.ts'
import { type Journal, readJournals } from './journal.ts'
import type { AgentLog } from './log.ts'
import { recoverJob } from './recover.ts'
import { createRegistration } from './registration.ts'
import { openRunFolders } from './run-folder.ts'
import { serveTaskRequests } from './task-requests.ts'
import { openWarmFolders, type WarmLimits } from './warm-folders.ts'
import { startWatchdog, type Watchdog } from './watchdog.ts'
import { claimWorkDir, openWorkDir } from './work-dir.ts'
import { writeForAll } from './write-for-all.ts'

const CLAIM_MS = 25_000
/** What the server gets to answer the claims that wait when the agent says goodbye, in ms. */
const GOODBYE_MS = 2_000
/** A claim that cannot succeed is not sent again at once, in ms. */
const AFTER_ERROR_MS = 1_000
/** A server that is away is mentioned no more often than this, in ms. */
const MENTION_MS = 10_000
/** An agent without an engine looks for one this often, in ms. */
const ENGINE_MS = 5_000
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
  accepts?: readonly WorkKind[]
  /** How often it looks which engines are there, in ms. */
  lookMs?: number
  /** How long it waits before it asks a server again that has refused it, in ms. */
  againMs?: number
  /** Ends the agent after one job or one request of a run task. */
  single?: boolean
  /** Ends the agent after this long without a job or a request of a run task, in ms. */
  idleTimeoutMs?: number | undefined
  /** Holds working folders and caches; one running agent each. */
  workDir: string
  /** A terraform or tofu binary, or a folder of them; PATH otherwise. */
  enginePath?: string
  /** Refuse jobs whose exact engine version is not there, in place of running them with another. */
  strictEngineVersion?: boolean
  /** Takes no runs while it has no engine and cannot download one. Without this such a run ends, and says what is missing. */
  waitsForEngine?: boolean
  /** Where engines that are not there are downloaded from; they are not by default. */
  engineDownloads?: DownloadSettings | undefined
  /** Where a log is cut off, in bytes. */
  logLimitBytes?: number
  /** How long and how many folders wait for their apply. */
  keepFoldersMs?: number
  keepFolders?: number
  /** How much is kept of what runs have unpacked and initialized, for later ones; false keeps nothing. */
  warmFolders?: WarmLimits | false
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
 * when the server refuses the agent, or when the working folder cannot be used.
 */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { token, log, signal } = options
  const workDir = await openWorkDir(options.workDir)
  await warnOfEnginePath(options)
  using stack = new DisposableStack()
  const claimed = stack.use(await claimWorkDir(workDir, signal))
  if (claimed === undefined) return
  const watchdog = stack.use(startWatchdog((error) => log.error({ error }, 'the watchdog could not be started')))
  const authorities = options.caFile === undefined ? undefined : await readAuthorities(options.caFile)
  const certificates = authorities === undefined ? undefined : join(workDir, 'authorities.pem')
  if (certificates !== undefined) await writeForAll(certificates, authorities ?? '')
  const journals = await readJournals(workDir)
  const sparedUsers = new Set(journals.flatMap((journal) => journal.facts().folder?.uid ?? []))
  const site = { workDir, enginePath: options.enginePath, log, certificates, sparedUsers }
  const confinement = stack.use(await openConfinement(options, site))
  const { onRetry, onAnswer } = mentionRetries(log, options.serverUrl)
  const connection = openConnection(options.serverUrl, authorities, onRetry, onAnswer)
  const apiUrl = options.apiUrl ?? `${connection.serverUrl}/api/v2/`
  const gateway = stack.use(createGateway({ apiUrl, connection, certificates, log }))

  /** Aborts the claims that are left when the goodbye was not answered in time. */
  const gone = new AbortController()
  const failed = new AbortController()
  /** The agent has done what it was started for. */
  const done = new AbortController()
  const stopping = AbortSignal.any([signal, failed.signal, done.signal])
  const drained = new AbortController()
  const forceful = AbortSignal.any([drained.signal, options.forcefulSignal ?? drained.signal])
  const settings = await prepare(options, {
    workDir,
    apiUrl,
    gateway,
    confinement,
    watchdog,
    certificates,
    forceful,
    journals,
  })
  const { folders, warmFolders } = settings.agent
  const sweeping = setInterval(() => void Promise.all([folders.sweep(), warmFolders?.sweep()]), SWEEP_MS)
  stack.defer(() => clearInterval(sweeping))
  const accepts = options.accepts ?? WORK_KINDS
  const takesRuns = accepts.includes('plan') || accepts.includes('apply')
  const waitsForEngine = options.waitsForEngine === true && settings.search.downloads === undefined
  /** Without any engine a run could only fail, whereas another agent may have one. */
  let hasEngine = true
  const idleness = stack.use(watchIdleness(options.idleTimeoutMs, () => done.abort()))
  const recoveries = new Set<Promise<void>>()
  /** What is not recovered soon after the agent is asked to end is left for its next start; one that has done its own waits for it. */
  const ending = new AbortController()
  const onAsked = () => setTimeout(() => ending.abort(), GOODBYE_MS).unref()
  const asked = AbortSignal.any([signal, failed.signal])
  asked.addEventListener('abort', onAsked)
  stack.defer(() => asked.removeEventListener('abort', onAsked))
  if (asked.aborted) onAsked()
  try {
    for (const journal of journals) recover(journal)
    const registration = stack.use(
      createRegistration(connection, {
        token,
        facts: {
          name: options.name,
          version: manifest.version,
          os: platform(),
          arch: arch(),
          concurrency: options.concurrency,
          accepts: [...accepts],
        },
        formerId: await readAgentId(workDir, connection.serverUrl),
        keepId: keepId(workDir, connection.serverUrl, log),
        search: settings.search,
        waitsForEngine,
        log,
        isClaiming: () => takesRuns && hasEngine && idleness.working() < options.concurrency,
        lookMs: options.lookMs,
        againMs: options.againMs,
        signal: stopping,
      }),
    )
    signal.addEventListener('abort', startDraining, { once: true })
    stack.defer(() => signal.removeEventListener('abort', startDraining))
    if (signal.aborted) startDraining()
    const goodbye = sayGoodbye()
    // One loop for each slot.
    const loops = Array.from({ length: takesRuns ? options.concurrency : 0 }, () => claimLoop())
    if (accepts.includes('task')) loops.push(taskLoop())
    await Promise.all([aborted(stopping), ...[registration.current(), ...loops].map((loop) => loop.catch(fail))])
    await Promise.all(recoveries)
    gone.abort()
    await goodbye
    failed.signal.throwIfAborted()

    /** Finishes what is left of a job, beside all other work. */
    function recover(journal: Journal) {
      const recovery = { workDir, agent: settings.agent, search: settings.search, log, signal: ending.signal }
      void besideJobs(() => recoverJob(connection, journal, recovery), 'what is left of a job could not be removed')
    }

    /** As a job itself it gets to finish when the agent is asked to end. */
    async function beside(work: (signal: AbortSignal) => Promise<void>) {
      return besideJobs(() => work(forceful), 'what is left of a job failed')
    }

    /** Work that the agent does not end without; `failure` is logged when it fails. */
    async function besideJobs(work: () => Promise<void>, failure: string) {
      const working = idleness
        .during(work)
        .catch((error: unknown) => log.error({ error }, failure))
        .finally(() => recoveries.delete(working))
      recoveries.add(working)
      return working
    }

    async function taskLoop() {
      const serving = serveTaskRequests({
        connection,
        token,
        waitMs: CLAIM_MS,
        single: options.single ?? false,
        log,
        registration: () => registration.current(),
        onForgotten: (current) => void current.then(({ agentId }) => registration.renew(agentId)),
        during: work,
        stopping,
        gone: gone.signal,
        forceful,
      })
      await serving.catch((error: unknown) => {
        throw isTokenRefused(error) ? registration.refusal(error) : error
      })
    }

    /** Does a piece of work, which for an agent with a single one is the last, unless it came to nothing. */
    async function work(piece: () => Promise<boolean | void>): Promise<void> {
      const isDone = await idleness.during(piece)
      if (options.single === true && isDone !== false) done.abort()
    }

    async function untilEngine() {
      while (!stopping.aborted) {
        hasEngine = !waitsForEngine || (await listEngines(settings.search)).length > 0
        if (hasEngine) return
        await delay(options.lookMs ?? ENGINE_MS, undefined, { signal: stopping }).catch(() => {})
      }
    }

    function fail(error: unknown) {
      if (!stopping.aborted) failed.abort(error)
    }

    async function claimLoop() {
      while (!stopping.aborted) {
        const { agentId } = await registration.current()
        await untilEngine()
        if (stopping.aborted) return
        const warmRunIds = settings.agent.folders.warmRunIds()
        try {
          const wanted = { waitMs: CLAIM_MS, warmRunIds, accepts }
          const job = await claim(connection, token, agentId, { ...wanted, signal: gone.signal })
          if (job === undefined) continue
          await work(() => takeJob(job))
        } catch (error) {
          if (gone.signal.aborted) return
          if (isTokenRefused(error)) throw registration.refusal(error)
          // The server has forgotten this agent, after a restore for one: it introduces itself again, once for all loops.
          if (error instanceof Refused && [404, 409, 410].includes(error.status)) registration.renew(agentId)
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

    async function takeJob(job: AgentJob, order?: Next): Promise<boolean> {
      if (stopping.aborted) {
        // It came as the agent stopped.
        await jobClient(connection, job).release(AbortSignal.timeout(job.leaseMs))
        return true
      }
      const { hasBegun, next } = await runJob(
        connection,
        job,
        { ...settings, tellLater: recover, beside, takesApply },
        order,
      )
      // Whatever kept the server from hearing of it may keep on.
      if (!hasBegun) await delay(AFTER_ERROR_MS, undefined, { signal: stopping }).catch(() => {})
      if (next !== undefined) await takeJob(next.job, next)
      return hasBegun
    }

    function takesApply() {
      return !stopping.aborted && options.single !== true && accepts.includes('apply')
    }

    async function sayGoodbye() {
      await aborted(stopping)
      const current = registration.current().then(({ agentId }) => agentId)
      const agentId = await current.catch(() => registration.knownId())
      if (agentId === undefined) return gone.abort()
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
  apiUrl: string
  gateway: Gateway
  confinement: Confinement
  watchdog: Watchdog
  certificates: string | undefined
  forceful: AbortSignal
  journals: readonly Journal[]
}

async function prepare(
  options: AgentOptions,
  parts: Parts,
): Promise<Omit<JobSettings, 'tellLater' | 'beside' | 'takesApply'>> {
  const { workDir, apiUrl, gateway, confinement, watchdog, certificates, forceful, journals } = parts
  const schemaCache = join(workDir, 'schemas')
  await mkdir(schemaCache, { recursive: true, mode: 0o700 })
  const limits = { keepMs: options.keepFoldersMs ?? 24 * 3_600_000, keepCount: options.keepFolders ?? 50 }
  const roots = journals.map((journal) => journal.facts().folder?.root).filter((root) => root !== undefined)
  const folders = await openRunFolders(workDir, limits, { ...confinement, inUse: new Set(roots) })
  const search: EngineSearch = {
    enginePath: options.enginePath,
    strict: options.strictEngineVersion ?? false,
    downloads: await openDownloads(workDir, options.engineDownloads),
  }
  const warmFolders = await openWarmFolders(workDir, options.log, options.single === true ? false : options.warmFolders)
  return {
    agent: {
      apiUrl,
      gateway,
      folders,
      launcher: confinement.launcher,
      watchdog,
      confinement,
      hooks: options.hooks,
      schemaCache,
      warmFolders,
      certificates,
    },
    workDir,
    search,
    logLimitBytes: options.logLimitBytes ?? 64 * 1024 * 1024,
    log: options.log,
    forceful,
  }
}

async function openDownloads(workDir: string, settings: DownloadSettings | undefined) {
  if (settings === undefined) return undefined
  // What checks signatures is large, and the server's own agent as a rule does without.
  const { openEngineDownloads } = await import('./engine-download.ts')
  return openEngineDownloads(join(workDir, 'engines'), settings)
}

/** The file's authorities and those that are known anyway, as PEM. */
async function readAuthorities(caFile: string): Promise<string> {
  const own = await readFile(caFile, 'utf8')
  return [...knownAuthorities(), own].join('\n')
}

/** Mentions that the server is away and that it is back, but not for every attempt of every loop. */
function mentionRetries(log: AgentLog, server: string) {
  let mentionedAt = -MENTION_MS
  let isAway = false
  return {
    onRetry(reason: string) {
      if (performance.now() - mentionedAt < MENTION_MS) return
      mentionedAt = performance.now()
      isAway = true
      log.warn({ server, reason }, 'request is sent again')
    },
    onAnswer() {
      if (isAway) log.info({ server }, 'connected again')
      isAway = false
    },
  }
}

/** Without it the next start is another agent to the server, which is no reason to take no work now. */
function keepId(workDir: string, serverUrl: string, log: AgentLog) {
  return async (agentId: string) =>
    keepAgentId(workDir, { serverUrl, agentId }).catch((error: unknown) => {
      log.warn({ error }, 'the id of this agent could not be kept for its next start')
    })
}

async function warnOfEnginePath({ enginePath, log }: AgentOptions) {
  if (enginePath === undefined || (await stat(enginePath).catch(() => undefined))) return
  log.warn({}, `--engine-path ${enginePath}: there is no such file or folder; engines are looked for elsewhere`)
}

async function aborted(signal: AbortSignal) {
  if (!signal.aborted) await once(signal, 'abort')
}
