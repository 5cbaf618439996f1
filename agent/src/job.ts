import type { AgentJob, FinishJob } from '@groundstate/contract/agent'
import { prepareColdApply, runApply, storeErroredState } from './apply.ts'
import { jobClient, LeaseLost, type Connection } from './client.ts'
import { engineName, findEngine, type EngineSearch } from './engine.ts'
import { holdLease } from './lease.ts'
import type { AgentLog } from './log.ts'
import { openLogStream } from './log-stream.ts'
import { EngineFailed, type Phase, type Workplace, type Workshop } from './phase.ts'
import { runPlan } from './plan.ts'
import { Stopped } from './process.ts'
import type { RunFolder } from './run-folder.ts'
import { createStop } from './stop.ts'
import { enterWorkplace, layOutWorkplace } from './workplace.ts'

export type JobSettings = {
  workshop: Workshop
  workDir: string
  search: EngineSearch
  /** Log output beyond this is dropped, in bytes. */
  logLimitBytes: number
  log: AgentLog
  /** Aborts when the agent has to be gone soon. */
  forceful: AbortSignal
}

/**
 * Does one job from its start to its end and resolves when nothing of it is left: the outcome is with the server, no process
 * runs, the folder is kept for the apply or removed. Does not reject: what goes wrong is the job's outcome.
 */
export async function runJob(connection: Connection, job: AgentJob, settings: JobSettings): Promise<void> {
  const { log } = settings
  const client = jobClient(connection, job)
  await using stack = new AsyncDisposableStack()
  const stop = stack.use(createStop(job, settings.forceful))
  const events = {
    onCommand: (command: 'cancel' | 'force-cancel') => stop.stop(command === 'cancel' ? 'canceled' : 'force-canceled'),
    onLost: (reason: Stopped) => stop.lose(reason),
  }
  const lease = stack.use(holdLease(client, job, events))
  const logStream = openLogStream({
    append: (offset, bytes) => client.appendLog(offset, bytes, stop.alive),
    limitBytes: settings.logLimitBytes,
  })
  stop.onStop((reason) => void logStream.write(`\n${reason.message}\n`))

  let folder: RunFolder | undefined
  let outcome: FinishJob
  let keep = false
  try {
    const found = await findEngine(job.engine, settings.search)
    const { engine, warning } = found
    await logStream.write(header(job, found))
    if (warning !== undefined) await logStream.write(`${warning}\n`)
    const phase: Phase = { ...stop.signals, workshop: settings.workshop, job, client, log: logStream, engine }
    const left = { jobId: job.planJobId, engineVersion: engine.version }
    const warm = job.kind === 'apply' ? await settings.workshop.folders.take(job.runId, left) : undefined
    folder = warm ?? (await settings.workshop.folders.create(job))
    const workplace = await (warm === undefined ? layOutWorkplace(phase, folder) : enterWorkplace(phase, folder))
    await warnOfRefused(workplace)
    outcome = { ...(await runPhase(workplace, warm !== undefined, settings)), engineVersion: engine.version }
    keep = job.kind === 'plan' && outcome.status === 'finished' && outcome.hasChanges === true
    if (keep) await settings.workshop.folders.keep(folder, job, engine.version)
  } catch (error) {
    outcome = failedOutcome(error)
    if (!(error instanceof EngineFailed || error instanceof Stopped || error instanceof LeaseLost)) {
      log.error({ jobId: job.id, runId: job.runId, error }, 'job failed')
      await logStream.write(`\nError: ${outcome.message}\n`)
    }
  }

  try {
    await conclude(outcome)
  } catch (error) {
    log.warn({ jobId: job.id, runId: job.runId, error }, 'job dropped: its outcome did not reach the server')
  }
  if (folder !== undefined && !keep) await settings.workshop.folders.remove(folder)

  async function conclude(reached: FinishJob) {
    const stopped = reached.status === 'finished' ? undefined : stop.reason()
    if (stopped?.kind === 'lease-lost') throw stopped
    await logStream.close()
    lease.concluding()
    if (stopped?.kind === 'agent-stopped' && job.kind === 'plan') await client.release(stop.alive)
    else await client.finish(stopped === undefined ? reached : stoppedOutcome(reached, stopped), stop.alive)
    log.info({ jobId: job.id, runId: job.runId, status: reached.status }, 'job ended')
  }
}

async function runPhase(workplace: Workplace, warm: boolean, { workDir, log }: JobSettings): Promise<FinishJob> {
  const { job } = workplace
  if (job.kind === 'plan') return runPlan(workplace)
  if (!warm) await prepareColdApply(workplace)
  return runApply(workplace, async (path) => {
    const kept = await storeErroredState(workDir, job.runId, path)
    log.error({ runId: job.runId, kept }, 'the state could not be stored; it is kept on this agent')
  })
}

/** For an apply exactly three lines: the command line cuts as many off its log (see its `cloud` back end). */
function header(
  { kind, pageUrl, engine: { product } }: AgentJob,
  { engine }: Awaited<ReturnType<typeof findEngine>>,
): string {
  const page = kind === 'plan' && pageUrl !== undefined ? `The run's page is ${pageUrl}\n\n` : ''
  return `${page}${engineName(product)} v${engine.version}\non ${engine.platform}\nInitializing plugins and modules...\n`
}

async function warnOfRefused({ environment, log }: Workplace) {
  for (const key of environment.refused) {
    await log.write(`The environment variable ${key} is left out: it would take the run off its server.\n`)
  }
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
