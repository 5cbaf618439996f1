import { setTimeout as delay } from 'node:timers/promises'
import { type AgentJob, type FinishJob, MAX_ENVELOPE_BYTES } from '@groundstate/contract/agent'
import { type Engine, type FoundEngine, engineName, findEngine } from '../engine/engine.ts'
import type { RunDirectory } from '../isolation/run-directory.ts'
import { Stopped } from '../process/process.ts'
import { createJournal, hasErroredState, storeErroredState } from '../results/journal.ts'
import { holdLease } from '../results/lease.ts'
import { openLogStream } from '../results/log-stream.ts'
import { prepareColdApply, runApply } from '../run/apply.ts'
import type { EngineContext, JobContext, Outbox } from '../run/context.ts'
import { deliverDocuments } from '../run/documents.ts'
import { forgetInits } from '../run/init-cache.ts'
import { type Planned, runPlan } from '../run/plan.ts'
import type { PlanSchemas } from '../run/provider-schemas.ts'
import { EngineFailed } from '../run/run-engine.ts'
import { createStop } from '../run/stop.ts'
import { enterDirectory, prepareDirectory } from '../run/working-directory.ts'
import { type Connection, RequestRejectedError } from '../server/connection.ts'
import { LeaseLost, jobClient } from '../server/job-client.ts'
import { sendErroredState, withNotes } from './deliver.ts'
import type { JobEnd, JobSettings, Next } from './prepare-jobs.ts'

/**
 * Executes a job and resolves when it is over: the server has the outcome, no process runs, and the directory is kept for the
 * apply or removed. Does not reject: a failure is the outcome of the job. The outcome of an apply that is refused is left to
 * `reportLater`; one that could not be reported before the agent had to end stays in the journal, for its next start.
 *
 * A job does not begin before the server has acknowledged its receipt. `next` is given for one that came with the response to the
 * result of its plan, which was made here.
 */
export async function runJob(
  connection: Connection,
  job: AgentJob,
  settings: JobSettings,
  next?: Next,
): Promise<JobEnd> {
  const { log } = settings
  const client = jobClient(connection, job)
  const facts = {
    kind: job.kind,
    runId: job.runId,
    workspace: `${job.organizationName}/${job.workspaceName}`,
    jobId: job.id,
  }
  log.info(facts, 'job taken')
  await using stack = new AsyncDisposableStack()
  if (next !== undefined) stack.defer(next.onEnd)
  const stop = stack.use(createStop(job, settings.forceful))
  const events = {
    onCommand: (command: 'cancel' | 'force-cancel') => stop.stop(command === 'cancel' ? 'canceled' : 'force-canceled'),
    onCutOff: (why: string) => stop.lose(why),
    onLost: (why: string, isGone: boolean) => stop.lose(why, isGone),
    onRefused: (error: unknown) => log.warn({ ...facts, error }, 'a heartbeat got no response of the server'),
  }
  // Before the receipt is reported: if this agent dies, its next start finds the job.
  const journal = await createJournal(settings.workDir, job).catch(async (error: unknown) => {
    await client.finish(failedOutcome(error), stop.alive)
    throw error
  })
  const lease = stack.use(holdLease(client, job, events))
  const logStream = stack.use(
    openLogStream({
      append: (offset, bytes) => client.appendLog(offset, bytes, stop.alive),
      file: journal.log,
      limitBytes: settings.logLimitBytes,
    }),
  )
  const say = (text: string) => logStream.write(text)
  const served = settings.agent.gateway.serve(job, client, { signal: stop.alive, say, former: next?.responses })
  const outbox: JobContext['outbox'] = job.takesResults ? { files: [] } : undefined
  let directory: RunDirectory | undefined
  // The engine that creates the documents of a plan may continue.
  stack.defer(() => void (directory?.documents ?? Promise.resolve()).finally(served.leave))
  // A new directory is unique, as is that of a plan whose apply this agent continues with. Otherwise the one that a plan has left
  // is taken by who has the job for certain.
  const early = job.kind === 'plan' || next !== undefined ? prepare() : undefined
  try {
    await unlessStopped(lease.received, stop.signals.stop.interrupt)
  } catch (error) {
    log.warn({ ...facts, error }, 'job left to others: it has not begun here')
    if (await isAbandoned(error)) await journal.remove()
    const prepared = await early?.ready.catch(() => undefined)
    if (prepared?.isWarm === true) await leave(prepared.context)
    else if (directory !== undefined) await settings.agent.directories.remove(directory)
    return { hasBegun: false }
  }
  stop.onStop((reason) => logStream.write(`\n${reason.message}\n`))

  let received: AgentJob | undefined
  const afterNext = new AbortController()
  let outcome: FinishJob
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
    warnOfRefused(context)
    const planned = await runPhase(context, isWarm)
    outcome = { ...planned.outcome, engineVersion: engine.version }
    if (planned.owed !== undefined) {
      reported = Promise.withResolvers()
      await owe(context, planned.owed, reported.promise)
    }
    keep = job.kind === 'plan' && outcome.status === 'finished' && outcome.hasChanges === true
    if (keep) await settings.agent.directories.keep(context.directory, job, engine.version)
  } catch (error) {
    outcome = failedOutcome(error)
    if (!(error instanceof EngineFailed || error instanceof Stopped || error instanceof LeaseLost)) {
      // An expected failure needs only its message; a bug also needs its stack.
      if (!isOwnWord(error)) log.error({ jobId: job.id, runId: job.runId, error }, 'job failed')
      logStream.write(`\nError: ${outcome.message}\n`)
    }
  }

  if (outcome.status === 'errored') forgetInits(settings.agent, job.workspaceId)

  let isRefused = false
  try {
    await conclude(outcome)
    reported?.resolve(true)
    if (reported === undefined) await journal.remove()
  } catch (error) {
    // The server may have it all the same, unless it has said that the job is no longer ours.
    reported?.resolve(!(error instanceof LeaseLost))
    isRefused = job.kind === 'apply' && error instanceof RequestRejectedError
    if (!isRefused) await drop(error)
    else
      log.error({ ...facts, error }, 'the outcome of an apply is refused: it is sent again as long as this agent runs')
  }
  if (directory !== undefined && !keep) {
    const left = directory
    const removing = settings.agent.directories.remove(left)
    // The next job need not wait for the documents of this one's plan.
    if (left.documents === undefined || isRefused) await removing
    else void settings.runInBackground(async () => removing)
  }
  if (isRefused) {
    // Its directory is deleted, and its user id may be reused by then.
    await journal.note({ directory: undefined })
    settings.reportLater(journal)
  }
  const onEnd = () => afterNext.abort()
  return { hasBegun: true, next: received && { job: received, responses: served.responses(), onEnd } }

  /** Finds the engine, and makes the directory ready, or takes that of the plan. Writes nothing to the log, and starts nothing. */
  function prepare() {
    const found = unlessStopped(findEngine(job.engine, settings.search), stop.signals.stop.interrupt)
    const ready = found.then(async ({ engine }) => prepareFor(engine))
    // Either may be asked for later than it fails.
    for (const promise of [found, ready]) promise.catch(() => {})
    return { found, ready }
  }

  async function prepareFor(engine: Engine) {
    const { agent } = settings
    const jobContext: JobContext = {
      ...stop.signals,
      agent,
      job,
      client,
      journal,
      log: logStream,
      engineApiUrl: served.apiUrl,
      engine,
      outbox,
    }
    const left = { jobId: job.planJobId, engineVersion: engine.version }
    const warm = job.kind === 'apply' ? await agent.directories.take(job.runId, left) : undefined
    directory = warm ?? (await agent.directories.create(job))
    const context = await (warm === undefined
      ? prepareDirectory(jobContext, directory)
      : enterDirectory(jobContext, directory))
    return { context, isWarm: warm !== undefined }
  }

  /** Keeps the directory of a plan for its apply. */
  async function leave({ directory: left, engine }: EngineContext) {
    const { planJobId = '', runId } = job
    await settings.agent.directories.keep(left, { id: planJobId, runId }, engine.version)
  }

  /** Whether the server knows that nothing has begun here. */
  async function isAbandoned(error: unknown) {
    if (error instanceof LeaseLost) return true
    // A plan that is cut off reports nothing more, but its server need not wait for the lease to run out.
    const signal = job.kind === 'plan' && !settings.forceful.aborted ? settings.forceful : stop.alive
    return client.release(signal).then(
      () => true,
      (refusal: unknown) => refusal instanceof LeaseLost || refusal instanceof RequestRejectedError,
    )
  }

  async function conclude(reached: FinishJob) {
    const stopped = reached.status === 'finished' ? undefined : stop.reason()
    if (stopped?.kind === 'lease-lost') throw stopped
    const told = stopped === undefined ? reached : stoppedOutcome(reached, stopped)
    if (job.kind === 'apply') await journal.note({ outcome: told })
    const isRequeued = stopped?.kind === 'agent-stopped' && job.kind === 'plan'
    if (outbox !== undefined && !isRequeued && (await reportNow(told, outbox))) return noteEnd(told)
    const missing = await logStream.close()
    const delivery = { workDir: settings.workDir, signal: stop.alive }
    const kept = job.kind === 'apply' ? await sendErroredState(client, journal, delivery) : undefined
    lease.concluding()
    if (isRequeued) await client.release(stop.alive)
    else {
      for (const { kind, bytes } of outbox?.files ?? []) await client.putArtifact(kind, bytes, stop.alive)
      await client.finish(withNotes(told, [missing, kept]), stop.alive)
    }
    noteEnd(told)
  }

  function noteEnd(told: FinishJob) {
    const reason = told.status === 'errored' ? told.message?.split('\n', 1)[0] : undefined
    log.info({ ...facts, status: told.status, reason }, 'job ended')
  }

  /** Sends all that is left in one request; false where that can't be, since it is too much or is refused. */
  async function reportNow(told: FinishJob, { files }: Outbox): Promise<boolean> {
    if (hasErroredState(journal)) return false
    const size = files.reduce((total, { bytes }) => total + bytes.length, 0)
    const log = await logStream.rest(Math.min(LOG_BYTES, MAX_ENVELOPE_BYTES - HEADER_BYTES - size))
    if (log === undefined) return false
    lease.concluding()
    try {
      const goesOn = job.documentsMayFollow && told.hasChanges === true && settings.takesApply()
      const takesApply = goesOn && told.status === 'finished'
      received = await client.sendResult(told, { log, files, takesApply }, stop.alive)
      return true
    } catch (error) {
      if (error instanceof RequestRejectedError) return false
      throw error
    }
  }

  /** Creates the documents of a plan in the background, in its directory, which is kept until they are delivered. */
  async function owe(context: EngineContext, schemas: PlanSchemas, isReported: Promise<boolean>) {
    const { directories } = settings.agent
    // Later on the engines of the run's user are at work: this is the last moment to end what the plan has left behind.
    await directories.clear(context.directory)
    const { engine, workingDirectory } = context
    await journal.note({ owesDocuments: true, engine, workingDirectory })
    context.directory.documents = settings.runInBackground(async (signal) => {
      try {
        if (!(await isReported)) return await journal.remove()
        if (received !== undefined) await shortly(AbortSignal.any([afterNext.signal, signal]))
        await deliverDocuments(context, schemas, signal)
      } catch (error) {
        if (signal.aborted) return
        log.warn({ ...facts, error }, 'the JSON of a plan did not reach the server')
      }
      await journal.remove()
    })
  }

  async function drop(why: unknown) {
    const failed = { ...facts, error: why }
    const isCutShort = stop.reason()?.kind === 'agent-stopped' && stop.alive.aborted
    if (job.kind === 'apply' && isCutShort) {
      log.error(failed, 'the outcome of an apply could not be reported: this agent reports it at its next start')
      return
    }
    const kept = await storeErroredState(settings.workDir, job.runId, journal.erroredState).catch(() => undefined)
    log.warn({ ...failed, kept }, 'job dropped: its outcome did not reach the server')
    // When the server is back it need not wait for the lease of a plan to run out.
    if (job.kind === 'plan') await client.release(settings.forceful).catch(() => {})
    // The upload of the pending documents removes it.
    if (reported === undefined) await journal.remove()
  }
}

/** The documents of a plan are created after its apply, or this long after its start, in ms, so that a short apply has the machine to itself. */
const SHORT_APPLY_MS = 300

async function shortly(signal: AbortSignal) {
  await delay(SHORT_APPLY_MS, undefined, { signal }).catch(() => {})
}

/** Maximum log bytes sent with the result. */
const LOG_BYTES = 1024 * 1024
/** Maximum size of a result's header, in bytes. */
const HEADER_BYTES = 64 * 1024

/** Stops waiting for the download of an engine, which continues for other jobs. */
async function unlessStopped<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  const stopped = Promise.withResolvers<never>()
  const onAbort = () => stopped.reject(signal.reason)
  signal.addEventListener('abort', onAbort)
  if (signal.aborted) onAbort()
  try {
    return await Promise.race([work, stopped.promise])
  } finally {
    signal.removeEventListener('abort', onAbort)
  }
}

async function runPhase(context: EngineContext, warm: boolean): Promise<Planned> {
  const { job } = context
  if (job.kind === 'plan') return runPlan(context)
  if (!warm) await prepareColdApply(context)
  return { outcome: await runApply(context) }
}

/**
 * Header of a job.s log. For an apply exactly three lines: the command line cuts as many off its log (see its `cloud`
 * back end).
 */
function jobHeader({ kind, pageUrl, engine: { product } }: AgentJob, { engine }: FoundEngine): string {
  const page = kind === 'plan' && pageUrl !== undefined ? `The run's page is ${pageUrl}\n\n` : ''
  return `${page}${engineName(product)} v${engine.version}\non ${engine.platform}\nInitializing plugins and modules...\n`
}

/** Logs the variables of the workspace that its runs do not get. */
function warnOfRefused({ environment, log }: EngineContext) {
  for (const key of environment.refused) {
    log.write(`The environment variable ${key} is left out: it would take the run off its server.\n`)
  }
}

/** Whether an error is an expected failure with a message for users, rather than a bug. */
function isOwnWord(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error && !('code' in error)
}

/** The outcome of a job that failed with an error. */
function failedOutcome(error: unknown): FinishJob {
  const message = error instanceof Error ? error.message : String(error)
  const exitCode = error instanceof EngineFailed ? error.exitCode : null
  return { status: 'errored', exitCode, message: message.slice(0, 10_000) }
}

/** The outcome of a job that was stopped. */
function stoppedOutcome(reached: FinishJob, { kind, message }: Stopped): FinishJob {
  const status = kind === 'canceled' || kind === 'force-canceled' ? 'canceled' : 'errored'
  return { ...reached, status, message }
}
