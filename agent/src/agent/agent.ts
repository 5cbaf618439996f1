import { once } from 'node:events'
import { readFile, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type AgentJob, WORK_KINDS, type WorkKind } from '@groundstate/contract/agent'
import { REQUEST_KINDS } from '@groundstate/contract/agent-requests'
import { trackActivity } from '../activity.ts'
import { type EngineSearch, listEngines } from '../engine/engine.ts'
import { createGateway } from '../gateway/gateway.ts'
import { openConfinement } from '../isolation/confinement.ts'
import { openRunDirectories } from '../isolation/run-directory.ts'
import { claimWorkDir, openWorkDir } from '../isolation/work-dir.ts'
import { type ClaimedApply, runJob } from '../job/job.ts'
import { recoverJob } from '../job/recover.ts'
import type { AgentLog } from '../log.ts'
import { writeWorldReadable } from '../process/confined-file.ts'
import { startWatchdog } from '../process/watchdog.ts'
import { type Journal, readJournals } from '../results/journal.ts'
import type { AgentContext } from '../run/context.ts'
import { openSchemaCache } from '../run/documents.ts'
import { claim, deregister } from '../server/client.ts'
import { RequestRejectedError, isTokenRejected, knownAuthorities, openConnection } from '../server/connection.ts'
import { jobClient } from '../server/job-client.ts'
import type { AgentOptions } from '../settings/agent-options.ts'
import { PLAN_DIRECTORY_LIMIT } from '../settings/shared-settings.ts'
import { serveGitRequests } from './git-requests.ts'
import { servePolicyRequests } from './policy-requests.ts'
import { createRegistration, readRegistration } from './registration.ts'
import { serveTaskRequests } from './task-requests.ts'

const CLAIM_MS = 25_000
/** Time limit for deregistration, and for the server to end pending claims after it, in ms. */
const DEREGISTER_TIMEOUT_MS = 2_000
const AFTER_ERROR_MS = 1_000
/** Minimum interval of warnings about an unreachable server, in ms. */
const WARNING_INTERVAL_MS = 10_000
/** Interval of engine scans by an agent without an engine, in ms. */
const ENGINE_SCAN_INTERVAL_MS = 5_000
const SWEEP_MS = 10 * 60_000

/** Runs an agent until its signal aborts and its jobs have ended. Rejects if the server refuses it or the working directory is unusable. */
export async function runAgent(options: AgentOptions): Promise<void> {
  const { token, log, signal, enginePath, concurrency, accepts = WORK_KINDS, single = false } = options
  const workDir = await openWorkDir(options.workDir)
  await warnOfEnginePath(options)
  using stack = new DisposableStack()
  const claimed = stack.use(await claimWorkDir(workDir, signal))
  if (claimed === undefined) return
  const watchdog = stack.use(startWatchdog((error) => log.error({ error }, 'the watchdog could not be started')))
  const authorities = options.caFile === undefined ? undefined : await readAuthorities(options.caFile)
  const certificates = authorities === undefined ? undefined : join(workDir, 'authorities.pem')
  if (certificates !== undefined) await writeWorldReadable(certificates, authorities ?? '')
  const journals = await readJournals(workDir)
  const leftDirectories = journals.flatMap((journal) => journal.record().directory ?? [])
  const sparedUsers = new Set(leftDirectories.flatMap(({ uid }) => uid ?? []))
  const confinement = stack.use(await openConfinement(options, { workDir, enginePath, log, certificates, sparedUsers }))
  const { onRetry, onResponse } = logRetries(log, options.serverUrl)
  const connection = openConnection(options.serverUrl, authorities, onRetry, onResponse)
  const apiUrl = options.apiUrl ?? `${connection.serverUrl}/api/v2/`
  const gateway = stack.use(createGateway({ apiUrl, connection, certificates, log }))

  /** Aborts claims that are still pending after the deregistration. */
  const deregistered = new AbortController()
  const failed = new AbortController()
  /** Aborts when the agent has nothing more to do: after its single job, or when idle. */
  const done = new AbortController()
  const stopping = AbortSignal.any([signal, failed.signal, done.signal])
  const drained = new AbortController()
  const forceful = AbortSignal.any([drained.signal, options.forcefulSignal ?? drained.signal])
  const inUse = new Set(leftDirectories.map(({ root }) => root))
  const { planDirectoryLimit = PLAN_DIRECTORY_LIMIT } = options
  const directories = await openRunDirectories(workDir, planDirectoryLimit, { ...confinement, inUse })
  const agent: AgentContext = {
    apiUrl,
    gateway,
    directories,
    watchdog,
    confinement,
    schemaCache: openSchemaCache(workDir),
    certificates,
    launcher: confinement.launcher,
    hooks: options.hooks,
    providerMirrors: options.providerMirrors,
    initResults: new Map(),
  }
  const downloads = await openDownloads(workDir, options)
  const search: EngineSearch = { enginePath, strict: options.strictEngineVersion ?? false, downloads }
  const sweeping = setInterval(() => void directories.sweep(), SWEEP_MS)
  stack.defer(() => clearInterval(sweeping))
  const takesRuns = accepts.includes('plan') || accepts.includes('apply')
  const waitsForEngine = options.waitsForEngine === true && downloads === undefined
  /** Without any engine a run would fail, whereas another agent may have one. */
  let hasEngine = true
  let isRegistered = () => false
  const activity = trackActivity({
    concurrency,
    kinds: accepts,
    isRegistered: () => isRegistered(),
    isStopping: () => stopping.aborted,
    contactedAt: () => connection.contactedAt,
  })
  const monitor = await options.monitor?.(activity)
  if (monitor !== undefined) stack.use(monitor)
  const work = stack.use(trackWork(options.idleTimeoutMs, () => done.abort()))
  const background = new Set<Promise<void>>()
  /** Aborts recoveries soon after a shutdown request, to leave them to the next start; an agent for a single job waits for them. */
  const ending = new AbortController()
  const onShutdown = () => setTimeout(() => ending.abort(), DEREGISTER_TIMEOUT_MS).unref()
  const shutdown = AbortSignal.any([signal, failed.signal])
  shutdown.addEventListener('abort', onShutdown)
  stack.defer(() => shutdown.removeEventListener('abort', onShutdown))
  if (shutdown.aborted) onShutdown()
  try {
    for (const journal of journals) recover(journal)
    const former = await readRegistration(workDir, connection.serverUrl)
    const registration = stack.use(
      createRegistration(connection, options, {
        workDir,
        former,
        search,
        waitsForEngine,
        signal: stopping,
        isClaiming: () => takesRuns && hasEngine && work.running() < concurrency,
      }),
    )
    isRegistered = () => registration.knownId() !== undefined
    signal.addEventListener('abort', startDraining, { once: true })
    stack.defer(() => signal.removeEventListener('abort', startDraining))
    if (signal.aborted) startDraining()
    const deregistering = deregisterAtEnd()
    const loops = Array.from({ length: takesRuns ? concurrency : 0 }, () => claimLoop('job', claimJob))
    const signals = { deregistered: deregistered.signal, forceful }
    const claims = { connection, token, waitMs: CLAIM_MS, log, claimLoop, ...signals }
    const requestKinds = REQUEST_KINDS.filter((kind) => accepts.includes(kind))
    if (requestKinds.length > 0) {
      // Requests to hosts must not consume an agent that was started for a single job.
      const during = {
        task: counted('task', doWork),
        repository: counted('repository', work.during),
      }
      loops.push(serveTaskRequests({ ...claims, accepts: requestKinds, single, authorities, during }))
    }
    if (accepts.includes('repository'))
      loops.push(serveGitRequests({ ...claims, workDir, certificates, during: counted('repository', work.during) }))
    if (accepts.includes('policy'))
      loops.push(
        servePolicyRequests({
          ...claims,
          workDir,
          agent,
          opa: options.opa ?? {},
          limits: options.policyLimits,
          during: counted('policy', work.during),
        }),
      )
    await Promise.all([aborted(stopping), ...[registration.current(), ...loops].map((loop) => loop.catch(fail))])
    await Promise.all(background)
    deregistered.abort()
    await deregistering
    failed.signal.throwIfAborted()

    function recover(journal: Journal) {
      const recovery = { workDir, agent, search, log, signal: ending.signal }
      void inBackground(() => recoverJob(connection, journal, recovery), 'the rest of a job could not be removed')
    }

    async function runInBackground(task: (signal: AbortSignal) => Promise<void>) {
      return inBackground(() => task(forceful), 'the rest of a job failed')
    }

    /** Runs work that the agent waits for before it ends; logs `failure` if it rejects. */
    async function inBackground(task: () => Promise<void>, failure: string) {
      const running = work
        .during(task)
        .catch((error: unknown) => log.error({ error }, failure))
        .finally(() => background.delete(running))
      background.add(running)
      return running
    }

    /** Counts the requests of a kind. */
    function counted(kind: WorkKind, during: (unit: () => Promise<void>) => Promise<void>) {
      return async (unit: () => Promise<void>) => during(async () => activity.during(kind, unit, () => 'finished'))
    }

    /** Does a unit of work, after which an agent for a single one ends, unless it returns false. */
    async function doWork(unit: () => Promise<boolean | void>): Promise<void> {
      const isDone = await work.during(unit)
      if (single && isDone !== false) done.abort()
    }

    async function waitForEngine() {
      while (!stopping.aborted) {
        hasEngine = !waitsForEngine || (await listEngines(search)).length > 0
        if (hasEngine) return
        const intervalMs = options.engineScanIntervalMs ?? ENGINE_SCAN_INTERVAL_MS
        await delay(intervalMs, undefined, { signal: stopping }).catch(() => {})
      }
    }

    function fail(error: unknown) {
      if (!stopping.aborted) failed.abort(error)
    }

    async function claimLoop(what: string, claimOne: (agentId: string) => Promise<void>) {
      while (!stopping.aborted) {
        const { agentId } = await registration.current()
        try {
          await claimOne(agentId)
        } catch (error) {
          if (deregistered.signal.aborted) return
          if (isTokenRejected(error)) throw registration.tokenError(error)
          // The server no longer knows this agent, for example after a restore.
          if (error instanceof RequestRejectedError && [404, 409, 410].includes(error.status))
            registration.renew(agentId)
          else log.error({ error }, `the claim of a ${what} failed`)
          await delay(AFTER_ERROR_MS, undefined, { signal: stopping }).catch(() => {})
        }
      }
    }

    async function claimJob(agentId: string) {
      await waitForEngine()
      if (stopping.aborted) return
      const warmRunIds = directories.warmRunIds()
      const request = { waitMs: CLAIM_MS, warmRunIds, accepts, signal: deregistered.signal }
      const job = await claim(connection, token, agentId, request)
      if (job !== undefined) await doWork(() => takeJob(job))
    }

    /** Only a requested shutdown has a deadline: with a revoked token, jobs finish. */
    function startDraining() {
      if (options.drainTimeoutMs === undefined) return
      const deadline = setTimeout(() => drained.abort(), options.drainTimeoutMs)
      stack.defer(() => clearTimeout(deadline))
    }

    async function takeJob(job: AgentJob, order?: ClaimedApply): Promise<boolean> {
      if (stopping.aborted) {
        await jobClient(connection, job).release(AbortSignal.timeout(job.leaseMs))
        return true
      }
      const { logLimitBytes = 64 * 1024 * 1024 } = options
      const services = { agent, workDir, search, logLimitBytes, log, forceful }
      const settings = { ...services, reportLater: recover, runInBackground, takesApply }
      const run = async () => runJob(connection, job, settings, order)
      const { outcome, next } = await activity.during(job.kind, run, (ended) => ended.outcome)
      const hasBegun = outcome !== undefined
      // The reason for the missing acknowledgement may persist.
      if (!hasBegun) await delay(AFTER_ERROR_MS, undefined, { signal: stopping }).catch(() => {})
      if (next !== undefined) await takeJob(next.job, next)
      return hasBegun
    }

    function takesApply() {
      return !stopping.aborted && !single && accepts.includes('apply')
    }

    async function deregisterAtEnd() {
      await aborted(stopping)
      const current = registration.current().then(({ agentId }) => agentId)
      const agentId = await current.catch(() => registration.knownId())
      if (agentId === undefined) return deregistered.abort()
      const timeout = AbortSignal.timeout(DEREGISTER_TIMEOUT_MS)
      await deregister(connection, token, agentId, timeout).catch((error: unknown) => {
        log.warn({ error }, 'the agent could not be deregistered')
      })
      const waitMs = timeout.aborted ? 0 : DEREGISTER_TIMEOUT_MS
      await delay(waitMs, undefined, { signal: deregistered.signal }).catch(() => {})
      deregistered.abort()
    }
  } finally {
    await connection.dispatcher.close()
  }
}

/** The file's authorities and the default ones, as PEM. */
async function readAuthorities(caFile: string): Promise<string> {
  const own = await readFile(caFile, 'utf8')
  return [...knownAuthorities(), own].join('\n')
}

async function openDownloads(workDir: string, { engineDownloads }: AgentOptions) {
  if (engineDownloads === undefined) return undefined
  // The signature library is large, and built-in agents rarely need it.
  const { openEngineDownloads } = await import('../engine/engine-download.ts')
  return openEngineDownloads(join(workDir, 'engines'), engineDownloads)
}

/** Logs when the server is unreachable and when it is back, throttled over all loops. */
function logRetries(log: AgentLog, server: string) {
  let warnedAt = -WARNING_INTERVAL_MS
  let isAway = false
  return {
    onRetry(reason: string) {
      if (performance.now() - warnedAt < WARNING_INTERVAL_MS) return
      warnedAt = performance.now()
      isAway = true
      log.warn({ server, reason }, 'retrying a request')
    },
    onResponse() {
      if (isAway) log.info({ server }, 'reconnected to the server')
      isAway = false
    },
  }
}

async function warnOfEnginePath({ enginePath, log }: AgentOptions) {
  if (enginePath === undefined || (await stat(enginePath).catch(() => undefined))) return
  log.warn({}, `--engine-path ${enginePath}: there is no such file or directory; only other locations are searched`)
}

async function aborted(signal: AbortSignal) {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Counts running work; calls `onIdle` after `limitMs` without any. */
function trackWork(limitMs: number | undefined, onIdle: () => void) {
  let running = 0
  let timer: NodeJS.Timeout | undefined
  const startTimer = () => {
    if (limitMs !== undefined) timer = setTimeout(onIdle, limitMs)
  }
  startTimer()
  return {
    running: () => running,
    async during<T>(work: () => Promise<T>): Promise<T> {
      clearTimeout(timer)
      running += 1
      try {
        return await work()
      } finally {
        running -= 1
        if (running === 0) startTimer()
      }
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}
