import { readFile, readlink, rm } from 'node:fs/promises'
import { sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type EngineSearch, findEngine } from '../engine/engine.ts'
import { bareEnvironment } from '../engine/environment.ts'
import { maskFile, readTokens } from '../identity/redaction.ts'
import { type RunDirectory, removeVariables } from '../isolation/run-directory.ts'
import type { AgentLog } from '../log.ts'
import { type Journal, dropJournal, readExit, saveErroredState } from '../results/journal.ts'
import { holdLease } from '../results/lease.ts'
import type { AgentContext, EngineSite } from '../run/context.ts'
import { deliverDocuments, noDocuments, planSchemas } from '../run/documents.ts'
import { UNREACHABLE_GRACE_MS } from '../run/stop.ts'
import { type Connection, RequestRejectedError } from '../server/connection.ts'
import { type JobClient, LeaseLost, jobClient } from '../server/job-client.ts'
import { deliverApply, readOutcome, withNotes } from './deliver.ts'

const POLL_MS = 200
/** Maximum delay between an engine's exit and its record, in ms. */
const EXIT_RECORD_MS = 5_000
/** Delay before an outcome rejected by a proxy is sent again, in ms; doubled on each retry. */
const MIN_RETRY_DELAY_MS = 5_000
const MAX_RETRY_DELAY_MS = 10 * 60_000
/** Retry time limit, in ms: the server accepts no later result. */
const LATE_RESULT_WINDOW_MS = 24 * 3_600_000

type Recovery = { workDir: string; agent: AgentContext; search: EngineSearch; log: AgentLog; signal: AbortSignal }

/**
 * Finishes a job of an agent that died: requeues a plan, and an apply that had not begun. The engine of an apply
 * that had begun was interrupted: waits for its exit and reports the known outcome. Also reports the outcome of an apply
 * that was rejected. Outcomes that cannot be reported before `signal` aborts are left for the next start.
 */
export async function recoverJob(connection: Connection, journal: Journal, recovery: Recovery): Promise<void> {
  const { log, signal } = recovery
  const { job, began, outcome, owesDocuments } = journal.record()
  const fields = { job: job.id, run: job.runId }
  const client = jobClient(connection, job)
  let isDropped = false
  try {
    if (job.kind === 'apply' && (began === true || outcome !== undefined)) await finishApply(client, journal, recovery)
    else if (owesDocuments === true) await recoverDocuments(client, journal, recovery)
    else await client.release(signal)
    log.warn(fields, 'interrupted job recovered')
  } catch (error) {
    if (signal.aborted) return
    // The server has abandoned the job. The only copy of a state is still kept.
    const kept = await dropJournal(recovery.workDir, journal, log)
    isDropped = true
    if (error instanceof LeaseLost || error instanceof RequestRejectedError)
      log.warn({ ...fields, error, kept }, 'interrupted job dropped')
    else log.error({ ...fields, error, kept }, 'recovery of an interrupted job failed')
  }
  const { directory } = journal.record()
  if (directory !== undefined) await recovery.agent.directories.removeLeft(directory)
  if (!isDropped) await journal.remove()
}

/** Retries while a proxy rejects it: only this agent knows the outcome of the apply. */
async function finishApply(client: JobClient, journal: Journal, recovery: Recovery) {
  const end = performance.now() + LATE_RESULT_WINDOW_MS
  for (let waitMs = MIN_RETRY_DELAY_MS; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_DELAY_MS)) {
    try {
      return await tryToFinishApply(client, journal, recovery)
    } catch (error) {
      if (!(error instanceof RequestRejectedError) || error.isFinal || performance.now() > end) throw error
    }
    await delay(waitMs, undefined, { signal: recovery.signal })
  }
}

async function tryToFinishApply(client: JobClient, journal: Journal, recovery: Recovery) {
  const { workDir, log, signal } = recovery
  const { job, outcome } = journal.record()
  const ignore = () => {}
  const onRejected = (error: unknown) => log.warn({ job: job.id, error }, 'heartbeat rejected by a proxy')
  // The engine can store its state only while the lease is held.
  await using lease = holdLease(client, job, { onCommand: ignore, onUnreachable: ignore, onLost: ignore, onRejected })
  const reached = outcome ?? (await awaitOutcome(journal, recovery))
  lease.concluding()
  await deliverApply(client, journal, reached, { workDir, signal })
}

async function awaitOutcome(journal: Journal, { log, signal }: Recovery) {
  const { job, directory, workingDirectory } = journal.record()
  const pid = Number(await readFile(journal.pid, 'utf8').catch(() => '0'))
  const deadline = Date.now() + UNREACHABLE_GRACE_MS + EXIT_RECORD_MS
  let exitedAt: number | undefined
  while (Date.now() < deadline && (await readExit(journal)) === undefined) {
    signal.throwIfAborted()
    if (!(await runsIn(pid, directory?.root))) exitedAt ??= Date.now()
    if (exitedAt !== undefined && Date.now() - exitedAt > EXIT_RECORD_MS) break
    await delay(POLL_MS, undefined, { signal })
  }
  const masking = await maskLog(journal, log)
  let problem: string | undefined
  if (directory !== undefined && workingDirectory !== undefined) {
    const { root, uid } = directory
    // The report may take long, and the engine needs them no longer.
    await removeVariables(root).catch((error: unknown) => {
      log.error({ run: job.runId, path: root, error }, 'the variables of a run could not be removed')
    })
    const bounds = { root, user: uid === undefined ? undefined : { uid } }
    problem = await saveErroredState(journal, bounds, workingDirectory)
  }
  const outcome = withNotes(await readOutcome(journal, problem === undefined), [problem, masking])
  await journal.tryUpdate({ outcome }, log)
  return outcome
}

/** Masks the tokens of the run in the log. Returns a note about a log that is dropped, since that has failed. */
async function maskLog(journal: Journal, log: AgentLog): Promise<string | undefined> {
  let note: string | undefined
  try {
    await maskFile(journal.log, await readTokens(journal.tokens))
  } catch (error) {
    log.error({ run: journal.record().job.runId, error }, 'the tokens in the log of a run could not be masked')
    note = 'The rest of the log is left out: it may contain tokens of the run, which the agent could not mask.'
    await rm(journal.log, { force: true })
  }
  await rm(journal.tokens, { recursive: true, force: true })
  return note
}

/** Whether the process is still the engine of that directory: its id may have been reused. */
async function runsIn(pid: number, root: string | undefined): Promise<boolean> {
  if (pid === 0 || root === undefined) return false
  try {
    process.kill(pid, 0)
  } catch {
    return false
  }
  if (process.platform !== 'linux') return true
  const place = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  return place.startsWith(root + sep)
}

/**
 * Delivers the pending documents of a plan whose agent was killed, or reports that there are none. The workspace's variables are no
 * longer on the disk, so plans that they encrypt are unreadable. Rejects when the signal aborts before the report.
 */
async function recoverDocuments(client: JobClient, journal: Journal, recovery: Recovery) {
  const { signal } = recovery
  // Takes effect only for a plan whose outcome the server does not have.
  const requeue = () => client.release(signal)
  // First, since an apply may start at any time and share the directory.
  const making = recovery.agent.directories.createDocuments(journal.record().job, async (directory) => {
    await requeue()
    try {
      const site = await siteOf(client, journal, recovery, directory)
      await deliverDocuments(site, await planSchemas(site), signal)
    } catch (error) {
      signal.throwIfAborted()
      if (error instanceof LeaseLost) throw error
      await client.sendDocuments(noDocuments('its agent was killed, and could not create it later', error), signal)
    }
  })
  try {
    if (making !== undefined) return await making
    await requeue()
    await client.sendDocuments(noDocuments('its agent was killed before it had created it'), signal)
  } catch (error) {
    // The outcome of the plan did not arrive, or its documents did.
    if (!(error instanceof LeaseLost)) throw error
  }
}

async function siteOf(client: JobClient, journal: Journal, recovery: Recovery, directory: RunDirectory) {
  const { agent, search, signal } = recovery
  const { engine: recorded, workingDirectory } = journal.record()
  if (recorded === undefined || workingDirectory === undefined) throw new Error('its record is incomplete')
  const { engine } = await findEngine({ ...recorded, required: true }, search)
  await agent.confinement.prepare(directory)
  const environment = bareEnvironment(directory, agent)
  return {
    agent,
    client,
    engine,
    directory,
    workingDirectory,
    job: {},
    environment: { run: environment, quiet: environment },
    stop: { interrupt: signal, kill: signal, graceMs: () => 0 },
    outbox: undefined,
    alive: signal,
  } satisfies EngineSite
}
