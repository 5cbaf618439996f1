import { existsSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { type AgentJob, type FinishJob, MAX_ENVELOPE_BYTES } from '@groundstate/contract/agent'
import type { Outcome } from '../activity.ts'
import { type Engine, type EngineSearch, type FoundEngine, engineName, findEngine } from '../engine/engine.ts'
import type { GatewayJob } from '../gateway/gateway.ts'
import type { RunDirectory } from '../isolation/run-directory.ts'
import { withLogFields } from '../log-fields.ts'
import type { AgentLog } from '../log.ts'
import { messageOf } from '../process/errors.ts'
import { Stopped, untilAborted } from '../process/process.ts'
import { type Journal, createJournal, dropJournal } from '../results/journal.ts'
import { holdLease } from '../results/lease.ts'
import { openLogStream } from '../results/log-stream.ts'
import { prepareColdApply, runApply } from '../run/apply.ts'
import type { AgentContext, EngineContext, Findings, JobContext, Outbox } from '../run/context.ts'
import { type PlanSchemas, deliverDocuments } from '../run/documents.ts'
import { withIdentity } from '../run/identity.ts'
import { invalidateInitCache } from '../run/init-cache.ts'
import { type Planned, runPlan } from '../run/plan.ts'
import { EngineFailed } from '../run/run-engine.ts'
import { createStop } from '../run/stop.ts'
import { enterDirectory, prepareDirectory } from '../run/working-directory.ts'
import { type Connection, RequestRejectedError } from '../server/connection.ts'
import { LeaseLost, jobClient } from '../server/job-client.ts'
import type { Span } from '../tracing/span.ts'
import { traced } from '../tracing/tracing.ts'
import { sendErroredState, withNotes } from './deliver.ts'

export type JobSettings = {
  agent: AgentContext
  workDir: string
  search: EngineSearch
  /** Log output beyond this is dropped, in bytes. */
  logLimitBytes: number
  log: AgentLog
  /** Takes over the journal of an apply whose outcome is rejected, and reports it later. */
  reportLater: (journal: Journal) => void
  /** Runs the rest of a job in the background, until the signal aborts. Resolves when it ends, and never rejects. */
  runInBackground: (work: (signal: AbortSignal) => Promise<void>) => Promise<void>
  /** Whether this slot would continue with the apply of its plan. */
  takesApply: () => boolean
  /** Aborts when the agent shuts down soon. */
  forceful: AbortSignal
}

/** An apply that came with the response to its plan's result, and the responses that the plan's engine got. */
export type ClaimedApply = {
  job: AgentJob
  responses: ReturnType<GatewayJob['responses']>
  /** Call when the apply has ended: the rest of its plan waits for that. */
  onEnd: () => void
}

/** Maximum wait of a plan's documents for the apply, in ms, so that they do not slow down a short apply. */
const SHORT_APPLY_MS = 300
const LOG_BYTES = 1024 * 1024
const HEADER_BYTES = 64 * 1024

/**
 * Executes a job. Resolves when the server has the outcome, no process is running, and the directory is kept for the apply or removed.
 * Does not reject: a failure is the outcome of the job. `reportLater` gets the outcome of an apply that is rejected; one that could not
 * be reported before the agent's shutdown stays in the journal, for its next start.
 *
 * A job begins once the server has its acknowledgement. Returns its outcome, and the apply claimed with its result, if any. `next` is
 * set if this job itself was claimed that way.
 */
export async function runJob(
  connection: Connection,
  job: AgentJob,
  settings: JobSettings,
  next?: ClaimedApply,
): Promise<EndedJob> {
  const attributes = {
    'groundstate.run.id': job.runId,
    'groundstate.job.id': job.id,
    'groundstate.organization': job.organizationName,
    'groundstate.workspace': job.workspaceName,
  }
  const options = { kind: 'consumer', parent: job.traceparent, attributes } as const
  return withLogFields({ run: job.runId, job: job.id }, async () =>
    traced(job.kind, options, async (span) => executeJob(connection, job, settings, { next, span })),
  )
}

/** `outcome` is undefined if the job did not begin. */
type EndedJob = { outcome: Outcome | undefined; next?: ClaimedApply | undefined }

async function executeJob(
  connection: Connection,
  job: AgentJob,
  settings: JobSettings,
  { next, span }: { next: ClaimedApply | undefined; span: Span | undefined },
): Promise<EndedJob> {
  const { log, agent, workDir } = settings
  const { directories } = agent
  const client = jobClient(connection, job)
  const workspace = `${job.organizationName}/${job.workspaceName}`
  const fields = { kind: job.kind, workspace }
  log.info(fields, 'job claimed')
  await using stack = new AsyncDisposableStack()
  if (next !== undefined) stack.defer(next.onEnd)
  const stop = stack.use(createStop(job, settings.forceful))
  const { alive, signals } = stop
  // Before the acknowledgement: if this agent dies, its next start finds the job.
  const journal = await createJournal(workDir, job).catch(async (error: unknown) => {
    await client.finish(failedOutcome(error), alive)
    throw error
  })
  const lease = stack.use(
    holdLease(client, job, {
      onCommand: (command) => stop.stop(command === 'cancel' ? 'canceled' : 'force-canceled'),
      onUnreachable: (why) => stop.lose(why),
      onLost: (why, isDeleted) => stop.lose(why, isDeleted),
      onRejected: (error) => log.warn({ ...fields, error }, 'heartbeat rejected by a proxy'),
    }),
  )
  const append = (offset: number, bytes: Uint8Array) => client.appendLog(offset, bytes, alive)
  const logStream = stack.use(openLogStream({ append, file: journal.log, limitBytes: settings.logLimitBytes }))
  const writeLog = (text: string) => logStream.write(text)
  const gatewayJob = agent.gateway.addJob(job, client, { signal: alive, writeLog, previous: next?.responses })
  const outbox: Outbox | undefined = job.takesResults ? { files: [] } : undefined
  const findings: Findings = {}
  let directory: RunDirectory | undefined
  // The engine that creates the documents of a plan may continue.
  stack.defer(() => void (directory?.documents ?? Promise.resolve()).finally(gatewayJob.close))
  // Preparation may start before the acknowledgement if no other agent can use the directory: a plan's is new, and an apply claimed with
  // its plan's result continues in its own.
  const early = job.kind === 'plan' || next !== undefined ? prepare() : undefined
  try {
    await untilAborted(lease.acknowledged, signals.interrupt)
  } catch (error) {
    log.warn({ ...fields, error }, 'job not started: it was not acknowledged')
    if (await isAbandoned(error)) await journal.remove()
    const prepared = await early?.ready.catch(() => undefined)
    if (prepared?.isWarm === true) {
      const { directory: kept, engine } = prepared.context
      await directories.keep(kept, { ...job, id: job.planJobId ?? '' }, engine.version)
    } else if (directory !== undefined) await directories.remove(directory)
    return { outcome: undefined }
  }
  stop.onStop((reason) => logStream.write(`\n${reason.message}\n`))

  let claimedApply: AgentJob | undefined
  const applyEnded = new AbortController()
  let outcome: FinishJob
  let reportedAs: Outcome = 'unreported'
  let keep = false
  /** Whether the server has the outcome of a plan with pending documents. */
  let reported: PromiseWithResolvers<boolean> | undefined
  try {
    const preparing = early ?? prepare()
    const found = await preparing.found
    const { engine, warning } = found
    logStream.write(jobHeader(job, found))
    if (warning !== undefined) logStream.write(`${warning}\n`)
    const { context, isWarm } = await preparing.ready
    for (const key of context.environment.refused)
      logStream.write(`The environment variable ${key} is ignored: it would redirect the engine to another server.\n`)
    const work = async (identified: EngineContext) => runPhase(identified, isWarm)
    const planned = await withIdentity(context, { work, agentLog: log })
    outcome = { ...planned.outcome, ...findings, engineVersion: engine.version }
    if (planned.pending !== undefined) {
      reported = Promise.withResolvers()
      await deliverLater(context, planned.pending, reported.promise)
    }
    keep = job.kind === 'plan' && job.mayApply && outcome.status === 'finished' && outcome.hasChanges === true
    if (keep) await directories.keep(context.directory, job, engine.version)
  } catch (error) {
    outcome = { ...failedOutcome(error), ...findings }
    if (!(error instanceof EngineFailed || error instanceof Stopped || error instanceof LeaseLost)) {
      // An expected failure needs only its message; a bug also needs its stack.
      if (!isExpected(error)) log.error({ error }, 'job failed')
      logStream.write(`\nError: ${outcome.message}\n`)
    }
  }

  if (outcome.status === 'errored') invalidateInitCache(agent, job.workspaceId)

  let isRejected = false
  try {
    await reportOutcome(outcome)
    reported?.resolve(true)
    if (reported === undefined) await journal.remove()
  } catch (error) {
    // The server may have claimed it, unless it has abandoned the job.
    reported?.resolve(!(error instanceof LeaseLost))
    isRejected = job.kind === 'apply' && error instanceof RequestRejectedError
    if (!isRejected) await abandonJob(error)
    else log.error({ ...fields, error }, 'outcome of an apply rejected: retrying while this agent runs')
  }
  if (directory !== undefined && !keep) {
    const left = directory
    const removing = directories.remove(left)
    // The next job need not wait for the documents of this one's plan.
    if (left.documents === undefined || isRejected) await removing
    else void settings.runInBackground(async () => removing)
  }
  if (isRejected) {
    // Its directory is deleted, and its user id may be reused by then.
    await journal.tryUpdate({ directory: undefined }, log)
    settings.reportLater(journal)
  }
  const onEnd = () => applyEnded.abort()
  return { outcome: reportedAs, next: claimedApply && { job: claimedApply, responses: gatewayJob.responses(), onEnd } }

  /** Finds the engine, and prepares the directory or takes that of the plan. Does not write to the log or start a process of the run. */
  function prepare() {
    // The download of an engine continues for other jobs.
    const found = untilAborted(findEngine(job.engine, settings.search), signals.interrupt)
    const ready = found.then(async ({ engine }) => prepareFor(engine))
    // They may reject before they are awaited.
    for (const promise of [found, ready]) promise.catch(() => {})
    return { found, ready }
  }

  async function prepareFor(engine: Engine) {
    const { apiUrl: engineApiUrl } = gatewayJob
    const context: JobContext = {
      stop: signals,
      alive,
      agent,
      job,
      client,
      journal,
      log: logStream,
      engineApiUrl,
      engine,
      outbox,
      findings,
    }
    const plan = { jobId: job.planJobId, engineVersion: engine.version }
    const warm = job.kind === 'apply' ? await directories.take(job.runId, plan) : undefined
    directory = warm ?? (await directories.create(job))
    const enter = warm === undefined ? prepareDirectory : enterDirectory
    return { context: await enter(context, directory), isWarm: warm !== undefined }
  }

  /** Whether the server knows that nothing has begun here. */
  async function isAbandoned(error: unknown) {
    if (error instanceof LeaseLost) return true
    // An unreachable plan reports nothing more, but its server need not wait for the lease to expire.
    const signal = job.kind === 'plan' && !settings.forceful.aborted ? settings.forceful : alive
    return client.release(signal).then(
      () => true,
      (rejection: unknown) => rejection instanceof LeaseLost || rejection instanceof RequestRejectedError,
    )
  }

  async function reportOutcome(reached: FinishJob) {
    const stopped = reached.status === 'finished' ? undefined : stop.reason()
    if (stopped?.kind === 'lease-lost') throw stopped
    const final = stopped === undefined ? reached : stoppedOutcome(reached, stopped)
    if (job.kind === 'apply') await journal.tryUpdate({ outcome: final }, log)
    const isRequeued = stopped?.kind === 'agent-stopped' && job.kind === 'plan'
    if (outbox === undefined || isRequeued || !(await reportInOneRequest(final, outbox))) {
      const missing = await logStream.close()
      const kept =
        job.kind === 'apply' ? await sendErroredState(client, journal, { workDir, signal: alive }) : undefined
      lease.concluding()
      if (isRequeued) await client.release(alive)
      else {
        for (const { kind, bytes } of outbox?.files ?? []) await client.putArtifact(kind, bytes, alive)
        await client.finish(withNotes(final, [missing, kept]), alive)
      }
    }
    reportedAs = isRequeued ? 'requeued' : final.status
    const reason = final.status === 'errored' ? final.message?.split('\n', 1)[0] : undefined
    span?.set({ 'groundstate.job.status': final.status })
    log.info({ ...fields, status: final.status, reason }, 'job ended')
  }

  /** Sends everything in one request; returns false if that is too large or is rejected. */
  async function reportInOneRequest(final: FinishJob, { files }: Outbox): Promise<boolean> {
    if (existsSync(journal.erroredState)) return false
    const size = files.reduce((total, { bytes }) => total + bytes.length, 0)
    const log = await logStream.rest(Math.min(LOG_BYTES, MAX_ENVELOPE_BYTES - HEADER_BYTES - size))
    if (log === undefined) return false
    lease.concluding()
    try {
      const mayApply = job.documentsMayFollow && final.hasChanges === true && settings.takesApply()
      const takesApply = mayApply && final.status === 'finished'
      claimedApply = await client.sendResult(final, { log, files, takesApply }, alive)
      return true
    } catch (error) {
      if (error instanceof RequestRejectedError) return false
      throw error
    }
  }

  /** Creates the documents of a plan in the background, in its directory, which is kept until they are delivered. */
  async function deliverLater(context: EngineContext, schemas: PlanSchemas, isReported: Promise<boolean>) {
    // Later, engines run as this user: this is the last moment to kill what the plan has left behind.
    await directories.clear(context.directory)
    const { engine, workingDirectory } = context
    await journal.update({ owesDocuments: true, engine, workingDirectory })
    context.directory.documents = settings.runInBackground(async (signal) => {
      try {
        if (!(await isReported)) return await journal.remove()
        if (claimedApply !== undefined) {
          const soon = AbortSignal.any([applyEnded.signal, signal])
          await delay(SHORT_APPLY_MS, undefined, { signal: soon }).catch(() => {})
        }
        await deliverDocuments(context, schemas, signal)
      } catch (error) {
        if (signal.aborted) return
        log.warn({ ...fields, error }, 'the JSON of a plan did not reach the server')
      }
      await journal.remove()
    })
  }

  async function abandonJob(why: unknown) {
    const isInterrupted = stop.reason()?.kind === 'agent-stopped' && alive.aborted
    if (job.kind === 'apply' && isInterrupted) {
      const message = 'the outcome of an apply could not be reported; the agent will report it after its next start'
      log.error({ ...fields, error: why }, message)
      return
    }
    // The delivery of pending documents removes it.
    const kept = reported === undefined ? await dropJournal(workDir, journal, log) : undefined
    log.warn({ ...fields, error: why, kept }, 'job dropped: its outcome did not reach the server')
    // When the server is back it need not wait for the lease of a plan to expire.
    if (job.kind === 'plan') await client.release(settings.forceful).catch(() => {})
  }
}

async function runPhase(context: EngineContext, isWarm: boolean): Promise<Planned> {
  if (context.job.kind === 'plan') return runPlan(context)
  if (!isWarm) await prepareColdApply(context)
  return { outcome: await runApply(context) }
}

/** Header of a job's log. An apply's has exactly three lines: the CLI's `cloud` backend skips that many. */
function jobHeader({ kind, pageUrl, engine: { product } }: AgentJob, { engine }: FoundEngine): string {
  const page = kind === 'plan' && pageUrl !== undefined ? `The run's page is ${pageUrl}\n\n` : ''
  return `${page}${engineName(product)} v${engine.version}\non ${engine.platform}\nInitializing plugins and modules...\n`
}

/** Whether an error is an expected failure with a message for users, rather than a bug. */
function isExpected(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error && !('code' in error)
}

function failedOutcome(error: unknown): FinishJob {
  const exitCode = error instanceof EngineFailed ? error.exitCode : null
  return { status: 'errored', exitCode, message: messageOf(error) }
}

function stoppedOutcome(reached: FinishJob, { kind, message }: Stopped): FinishJob {
  const status = kind === 'canceled' || kind === 'force-canceled' ? 'canceled' : 'errored'
  return { ...reached, status, message }
}
