import type { AgentJob, FinishJob } from '@groundstate/contract/agent'
import { prepareColdApply, runApply } from './apply.ts'
import { jobClient, LeaseLost, Refused, type Connection } from './client.ts'
import type { JobContext, EngineContext, AgentContext } from './context.ts'
import { sendErroredState, withNotes } from './deliver.ts'
import { engineName, findEngine, type EngineSearch } from './engine.ts'
import { createJournal, type Journal, storeErroredState } from './journal.ts'
import { holdLease } from './lease.ts'
import { openLogStream } from './log-stream.ts'
import type { AgentLog } from './log.ts'
import { runPlan } from './plan.ts'
import { Stopped } from './process.ts'
import { EngineFailed } from './run-engine.ts'
import type { RunFolder } from './run-folder.ts'
import { createStop } from './stop.ts'
import { enterFolder, prepareFolder } from './working-folder.ts'

export type JobSettings = {
  agent: AgentContext
  workDir: string
  search: EngineSearch
  /** Log output beyond this is dropped, in bytes. */
  logLimitBytes: number
  log: AgentLog
  /** Takes over the journal of an apply whose outcome is refused, and tells it later. */
  tellLater: (journal: Journal) => void
  /** Aborts when the agent has to end soon. */
  forceful: AbortSignal
}

/**
 * Executes a job and resolves when it is over: the server has the outcome, no process runs, and the folder is kept for the
 * apply or removed. Does not reject: a failure is the outcome of the job. The outcome of an apply that is refused is left to
 * `tellLater`; one that could not be reported before the agent had to end stays in the journal, for its next start.
 *
 * Returns false for a job that did not begin, since the server could not be told that it has arrived.
 */
export async function runJob(connection: Connection, job: AgentJob, settings: JobSettings): Promise<boolean> {
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
  const stop = stack.use(createStop(job, settings.forceful))
  const events = {
    onCommand: (command: 'cancel' | 'force-cancel') => stop.stop(command === 'cancel' ? 'canceled' : 'force-canceled'),
    onCutOff: (why: string) => stop.lose(why),
    onLost: (why: string, isGone: boolean) => stop.lose(why, isGone),
    onRefused: (error: unknown) => log.warn({ ...facts, error }, 'a heartbeat got no answer of the server'),
  }
  // Before the server is told that the job has arrived: should this agent die, its next start finds the job.
  const journal = await createJournal(settings.workDir, job).catch(async (error: unknown) => {
    await client.finish(failedOutcome(error), stop.alive)
    throw error
  })
  const lease = stack.use(holdLease(client, job, events))
  try {
    await unlessStopped(lease.received, stop.signals.stop.interrupt)
  } catch (error) {
    log.warn({ ...facts, error }, 'job left to others: it has not begun here')
    if (await isGivenUp(error)) await journal.remove()
    return false
  }
  const logStream = stack.use(
    openLogStream({
      append: (offset, bytes) => client.appendLog(offset, bytes, stop.alive),
      file: journal.log,
      limitBytes: settings.logLimitBytes,
    }),
  )
  stop.onStop((reason) => logStream.write(`\n${reason.message}\n`))

  let folder: RunFolder | undefined
  let outcome: FinishJob
  let keep = false
  try {
    const found = await unlessStopped(findEngine(job.engine, settings.search), stop.signals.stop.interrupt)
    const { engine, warning } = found
    logStream.write(header(job, found))
    if (warning !== undefined) logStream.write(`${warning}\n`)
    const jobContext: JobContext = {
      ...stop.signals,
      agent: settings.agent,
      job,
      client,
      journal,
      log: logStream,
      engine,
    }
    const left = { jobId: job.planJobId, engineVersion: engine.version }
    const warm = job.kind === 'apply' ? await settings.agent.folders.take(job.runId, left) : undefined
    folder = warm ?? (await settings.agent.folders.create(job))
    const context = await (warm === undefined ? prepareFolder(jobContext, folder) : enterFolder(jobContext, folder))
    await warnOfRefused(context)
    outcome = { ...(await runPhase(context, warm !== undefined)), engineVersion: engine.version }
    keep = job.kind === 'plan' && outcome.status === 'finished' && outcome.hasChanges === true
    if (keep) await settings.agent.folders.keep(folder, job, engine.version)
  } catch (error) {
    outcome = failedOutcome(error)
    if (!(error instanceof EngineFailed || error instanceof Stopped || error instanceof LeaseLost)) {
      // What the agent says in its own words is somebody's mistake; anything else is a bug, and where it happened counts.
      if (!isOwnWord(error)) log.error({ jobId: job.id, runId: job.runId, error }, 'job failed')
      logStream.write(`\nError: ${outcome.message}\n`)
    }
  }

  let isRefused = false
  try {
    await conclude(outcome)
    await journal.remove()
  } catch (error) {
    isRefused = job.kind === 'apply' && error instanceof Refused
    if (!isRefused) await drop(error)
    else
      log.error({ ...facts, error }, 'the outcome of an apply is refused: it is sent again as long as this agent runs')
  }
  if (folder !== undefined && !keep) await settings.agent.folders.remove(folder)
  if (isRefused) {
    // Its folder is gone, and its user may be that of another run by then.
    await journal.note({ folder: undefined })
    settings.tellLater(journal)
  }
  return true

  /** Whether the server knows that nothing has begun here. */
  async function isGivenUp(error: unknown) {
    if (error instanceof LeaseLost) return true
    // A plan that is cut off reports nothing more, but its server need not wait for the lease to run out.
    const signal = job.kind === 'plan' && !settings.forceful.aborted ? settings.forceful : stop.alive
    return client.release(signal).then(
      () => true,
      (refusal: unknown) => refusal instanceof LeaseLost || refusal instanceof Refused,
    )
  }

  async function conclude(reached: FinishJob) {
    const stopped = reached.status === 'finished' ? undefined : stop.reason()
    if (stopped?.kind === 'lease-lost') throw stopped
    const told = stopped === undefined ? reached : stoppedOutcome(reached, stopped)
    if (job.kind === 'apply') await journal.note({ outcome: told })
    const missing = await logStream.close()
    const delivery = { workDir: settings.workDir, signal: stop.alive }
    const kept = job.kind === 'apply' ? await sendErroredState(client, journal, delivery) : undefined
    lease.concluding()
    if (stopped?.kind === 'agent-stopped' && job.kind === 'plan') await client.release(stop.alive)
    else await client.finish(withNotes(told, [missing, kept]), stop.alive)
    const reason = told.status === 'errored' ? told.message?.split('\n', 1)[0] : undefined
    log.info({ ...facts, status: told.status, reason }, 'job ended')
  }

  async function drop(why: unknown) {
    const failed = { ...facts, error: why }
    const isCutShort = stop.reason()?.kind === 'agent-stopped' && stop.alive.aborted
    if (job.kind === 'apply' && isCutShort) {
      log.error(failed, 'the server could not be told how an apply ended: it is told when this agent starts again')
      return
    }
    const kept = await storeErroredState(settings.workDir, job.runId, journal.erroredState).catch(() => undefined)
    log.warn({ ...failed, kept }, 'job dropped: its outcome did not reach the server')
    // When the server is back it need not wait for the lease of a plan to run out.
    if (job.kind === 'plan') await client.release(settings.forceful).catch(() => {})
    await journal.remove()
  }
}

/** The download of an engine goes on for other jobs, and this one need not wait for it. */
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

async function runPhase(context: EngineContext, warm: boolean): Promise<FinishJob> {
  const { job } = context
  if (job.kind === 'plan') return runPlan(context)
  if (!warm) await prepareColdApply(context)
  return runApply(context)
}

/** For an apply exactly three lines: the command line cuts as many off its log (see its `cloud` back end). */
function header(
  { kind, pageUrl, engine: { product } }: AgentJob,
  { engine }: Awaited<ReturnType<typeof findEngine>>,
): string {
  const page = kind === 'plan' && pageUrl !== undefined ? `The run's page is ${pageUrl}\n\n` : ''
  return `${page}${engineName(product)} v${engine.version}\non ${engine.platform}\nInitializing plugins and modules...\n`
}

async function warnOfRefused({ environment, log }: EngineContext) {
  for (const key of environment.refused) {
    log.write(`The environment variable ${key} is left out: it would take the run off its server.\n`)
  }
}

function isOwnWord(error: unknown): boolean {
  return error instanceof Error && error.constructor === Error && !('code' in error)
}

function failedOutcome(error: unknown): FinishJob {
  const message = error instanceof Error ? error.message : String(error)
  const exitCode = error instanceof EngineFailed ? error.exitCode : null
  return { status: 'errored', exitCode, message: message.slice(0, 10_000) }
}

function stoppedOutcome(reached: FinishJob, { kind, message }: Stopped): FinishJob {
  const status = kind === 'canceled' || kind === 'force-canceled' ? 'canceled' : 'errored'
  return { ...reached, status, message }
}
