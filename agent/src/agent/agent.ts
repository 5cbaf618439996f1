import { once } from 'node:events'
import { readFile, rename, stat, writeFile } from 'node:fs/promises'
import { arch, platform } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type AgentJob, WORK_KINDS } from '@groundstate/contract/agent'
import { z } from 'zod'
import manifest from '../../package.json' with { type: 'json' }
import { listEngines } from '../engine/engine.ts'
import { createGateway } from '../gateway/gateway.ts'
import { openConfinement } from '../isolation/confinement.ts'
import { claimWorkDir, openWorkDir } from '../isolation/work-dir.ts'
import { runJob } from '../job/job.ts'
import { type Next, prepareJobs } from '../job/prepare-jobs.ts'
import { recoverJob } from '../job/recover.ts'
import type { AgentLog } from '../log.ts'
import { writeForAll } from '../process/confined-file.ts'
import { startWatchdog } from '../process/watchdog.ts'
import { type Journal, readJournals } from '../results/journal.ts'
import { claim, deregister } from '../server/client.ts'
import { RequestRejectedError, isTokenRefused, knownAuthorities, openConnection } from '../server/connection.ts'
import { jobClient } from '../server/job-client.ts'
import type { AgentOptions } from '../settings/agent-options.ts'
import { createRegistration } from './registration.ts'
import { serveTaskRequests } from './task-requests.ts'

const CLAIM_MS = 25_000
/** Timeout for the server to end waiting claims when the agent deregisters, in ms. */
const GOODBYE_MS = 2_000
/** A claim that cannot succeed is not sent again at once, in ms. */
const AFTER_ERROR_MS = 1_000
/** A server that is away is mentioned no more often than this, in ms. */
const MENTION_MS = 10_000
/** An agent without an engine looks for one this often, in ms. */
const ENGINE_MS = 5_000
const SWEEP_MS = 10 * 60_000

/**
 * Runs an agent until its signal aborts and its jobs have ended. While a slot is free a claim waits at the server. Rejects
 * when the server refuses the agent, or when the working directory cannot be used.
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
  const sparedUsers = new Set(journals.flatMap((journal) => journal.facts().directory?.uid ?? []))
  const site = { workDir, enginePath: options.enginePath, log, certificates, sparedUsers }
  const confinement = stack.use(await openConfinement(options, site))
  const { onRetry, onResponse } = mentionRetries(log, options.serverUrl)
  const connection = openConnection(options.serverUrl, authorities, onRetry, onResponse)
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
  const settings = await prepareJobs(options, {
    workDir,
    apiUrl,
    gateway,
    confinement,
    watchdog,
    certificates,
    forceful,
    journals,
  })
  const sweeping = setInterval(() => void settings.agent.directories.sweep(), SWEEP_MS)
  stack.defer(() => clearInterval(sweeping))
  const accepts = options.accepts ?? WORK_KINDS
  const takesRuns = accepts.includes('plan') || accepts.includes('apply')
  const waitsForEngine = options.waitsForEngine === true && settings.search.downloads === undefined
  /** Without any engine a run could only fail, whereas another agent may have one. */
  let hasEngine = true
  const idleness = stack.use(watchIdleness(options.idleTimeoutMs, () => done.abort()))
  const recoveries = new Set<Promise<void>>()
  /** Recovery that does not end soon after a shutdown request is left to the next start; a single-job agent waits for it. */
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
        engineScanIntervalMs: options.engineScanIntervalMs,
        retryDelayMs: options.retryDelayMs,
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

    /** Finishes the rest of a job in the background. */
    function recover(journal: Journal) {
      const recovery = { workDir, agent: settings.agent, search: settings.search, log, signal: ending.signal }
      void besideJobs(() => recoverJob(connection, journal, recovery), 'what is left of a job could not be removed')
    }

    /** As a job itself it gets to finish when the agent is asked to end. */
    async function runInBackground(work: (signal: AbortSignal) => Promise<void>) {
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
    async function work(chunk: () => Promise<boolean | void>): Promise<void> {
      const isDone = await idleness.during(chunk)
      if (options.single === true && isDone !== false) done.abort()
    }

    async function untilEngine() {
      while (!stopping.aborted) {
        hasEngine = !waitsForEngine || (await listEngines(settings.search)).length > 0
        if (hasEngine) return
        await delay(options.engineScanIntervalMs ?? ENGINE_MS, undefined, { signal: stopping }).catch(() => {})
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
        const warmRunIds = settings.agent.directories.warmRunIds()
        try {
          const wanted = { waitMs: CLAIM_MS, warmRunIds, accepts }
          const job = await claim(connection, token, agentId, { ...wanted, signal: gone.signal })
          if (job === undefined) continue
          await work(() => takeJob(job))
        } catch (error) {
          if (gone.signal.aborted) return
          if (isTokenRefused(error)) throw registration.refusal(error)
          // The server has forgotten this agent, after a restore for one: it introduces itself again, once for all loops.
          if (error instanceof RequestRejectedError && [404, 409, 410].includes(error.status))
            registration.renew(agentId)
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
        { ...settings, reportLater: recover, runInBackground, takesApply },
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
    onResponse() {
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
  log.warn({}, `--engine-path ${enginePath}: there is no such file or directory; engines are looked for elsewhere`)
}

async function aborted(signal: AbortSignal) {
  if (!signal.aborted) await once(signal, 'abort')
}

/** Counts the jobs under way, and tells when there was none for so long; never without a limit. */
function watchIdleness(limitMs: number | undefined, onIdle: () => void) {
  let working = 0
  let timer: NodeJS.Timeout | undefined
  const wait = () => {
    if (limitMs !== undefined) timer = setTimeout(onIdle, limitMs)
  }
  wait()
  return {
    working: () => working,
    async during<T>(work: () => Promise<T>): Promise<T> {
      clearTimeout(timer)
      working += 1
      try {
        return await work()
      } finally {
        working -= 1
        if (working === 0) wait()
      }
    },
    [Symbol.dispose]: () => clearTimeout(timer),
  }
}

const kept = z.object({ serverUrl: z.string(), agentId: z.string().min(1).max(100) })

const fileOf = (workDir: string) => join(workDir, 'registration.json')

/** The id that this server gave to the last agent on the directory; undefined when there is none that can be read. */
async function readAgentId(workDir: string, serverUrl: string): Promise<string | undefined> {
  try {
    const { agentId, ...former } = kept.parse(JSON.parse(await readFile(fileOf(workDir), 'utf8')))
    return former.serverUrl === serverUrl ? agentId : undefined
  } catch {
    return undefined
  }
}

/** Keeps the id for the next agent on the directory, which is the same one. */
async function keepAgentId(workDir: string, facts: z.infer<typeof kept>) {
  const file = fileOf(workDir)
  await writeFile(`${file}.new`, `${JSON.stringify(facts)}\n`, { mode: 0o600 })
  await rename(`${file}.new`, file)
}
