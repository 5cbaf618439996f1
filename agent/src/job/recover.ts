import { readFile, readlink } from 'node:fs/promises'
import { sep } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import type { EngineSearch } from '../engine/engine.ts'
import type { AgentLog } from '../log.ts'
import { type Journal, readExit, saveErroredState, storeErroredState } from '../results/journal.ts'
import { holdLease } from '../results/lease.ts'
import type { AgentContext } from '../run/context.ts'
import { LONE_GRACE_MS } from '../run/stop.ts'
import { type Connection, RequestRejectedError } from '../server/connection.ts'
import { type JobClient, LeaseLost, jobClient } from '../server/job-client.ts'
import { deliverLeft, readOutcome } from './deliver.ts'
import { deliverLeftDocuments } from './left-documents.ts'

const POLL_MS = 200
/** Maximum delay between an engine's exit and its record, in ms. */
const NOTE_MS = 5_000
/** Delay before an outcome refused by a proxy is sent again, in ms; doubled on each retry. */
const MIN_RETRY_DELAY_MS = 5_000
const MAX_RETRY_DELAY_MS = 10 * 60_000
/** Retry time limit, in ms: the server accepts no later result. */
const LATE_MS = 24 * 3_600_000

type Recovery = { workDir: string; agent: AgentContext; search: EngineSearch; log: AgentLog; signal: AbortSignal }

/**
 * Finishes a job of an agent that died: requeues a plan, and an apply that had not begun. The engine of an apply
 * that had begun was interrupted: waits for its exit and reports the known outcome. Also reports the outcome of an apply
 * that was refused. Outcomes that cannot be reported before `signal` aborts are left for the next start.
 */
export async function recoverJob(connection: Connection, journal: Journal, recovery: Recovery): Promise<void> {
  const { log, signal } = recovery
  const { job } = journal.facts()
  const facts = { jobId: job.id, runId: job.runId }
  const client = jobClient(connection, job)
  try {
    if (mustFinish(journal)) await finishApply(client, journal, recovery)
    else if (journal.facts().owesDocuments === true) await deliverLeftDocuments(client, journal, recovery)
    else await client.release(signal)
    log.warn(facts, 'a job that was left behind is finished')
  } catch (error) {
    if (signal.aborted) return
    // The server has dropped the job. The only copy of a state is still kept.
    const kept = await storeErroredState(recovery.workDir, job.runId, journal.erroredState).catch(() => undefined)
    if (error instanceof LeaseLost || error instanceof RequestRejectedError)
      log.warn({ ...facts, error, kept }, 'a job is dropped')
    else log.error({ ...facts, error, kept }, 'an interrupted job cannot be finished')
  }
  const { directory } = journal.facts()
  if (directory !== undefined) await recovery.agent.directories.removeLeft(directory)
  await journal.remove()
}

function mustFinish(journal: Journal) {
  const { job, began, outcome } = journal.facts()
  return job.kind === 'apply' && (began === true || outcome !== undefined)
}

/** Retries while a proxy refuses it: no one else knows the outcome of the apply. */
async function finishApply(client: JobClient, journal: Journal, recovery: Recovery) {
  const end = performance.now() + LATE_MS
  for (let waitMs = MIN_RETRY_DELAY_MS; ; waitMs = Math.min(2 * waitMs, MAX_RETRY_DELAY_MS)) {
    try {
      return await tryToFinishApply(client, journal, recovery)
    } catch (error) {
      if (!(error instanceof RequestRejectedError) || error.isFinal || performance.now() > end) throw error
    }
    await delay(waitMs, undefined, { signal: recovery.signal })
  }
}

async function tryToFinishApply(client: JobClient, journal: Journal, { workDir, log, signal }: Recovery) {
  const { job, outcome } = journal.facts()
  const ignore = () => {}
  const onRefused = (error: unknown) => log.warn({ jobId: job.id, error }, 'a heartbeat got no response of the server')
  // The engine can store its state only while the lease is ours.
  await using lease = holdLease(client, job, { onCommand: ignore, onCutOff: ignore, onLost: ignore, onRefused })
  const reached = outcome ?? (await awaitOutcome(journal, signal))
  lease.concluding()
  await deliverLeft(client, journal, reached, { workDir, signal })
}

async function awaitOutcome(journal: Journal, signal: AbortSignal) {
  const { directory, workingDirectory } = journal.facts()
  const pid = Number(await readFile(journal.pid, 'utf8').catch(() => '0'))
  const deadline = Date.now() + LONE_GRACE_MS + NOTE_MS
  let goneAt: number | undefined
  while (Date.now() < deadline && (await readExit(journal)) === undefined) {
    signal.throwIfAborted()
    if (!(await runsIn(pid, directory?.root))) goneAt ??= Date.now()
    if (goneAt !== undefined && Date.now() - goneAt > NOTE_MS) break
    await delay(POLL_MS, undefined, { signal })
  }
  const keepsState =
    directory !== undefined && workingDirectory !== undefined && (await keepState(journal, directory, workingDirectory))
  const outcome = await readOutcome(journal, keepsState)
  await journal.note({ outcome })
  return outcome
}

/** The run replaced the state file by something else; the job ends all the same. */
async function keepState(
  journal: Journal,
  { root, uid }: { root: string; uid?: number | undefined },
  workingDirectory: string,
) {
  const user = uid === undefined ? undefined : { uid }
  return saveErroredState(journal, { root, user }, workingDirectory).catch(() => false)
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
