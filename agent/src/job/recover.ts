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
/** Between the end of an engine and the note of it, in ms. */
const NOTE_MS = 5_000
/** An outcome that a proxy refuses is sent again after this time, in ms, and then after twice that. */
const MIN_RETRY_DELAY_MS = 5_000
const MAX_RETRY_DELAY_MS = 10 * 60_000
/** For this long, in ms: the server takes no result that comes later. */
const LATE_MS = 24 * 3_600_000

type Recovery = { workDir: string; agent: AgentContext; search: EngineSearch; log: AgentLog; signal: AbortSignal }

/**
 * Finishes a job that the agent had when it died: a plan goes back to the queue, and so does an apply that had not begun. Of one
 * that had, the engine was interrupted: its end is waited for, and what is known of it is reported. So is the outcome of an apply
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
    // The server has no more interest. The only copy of a state is not removed all the same.
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

/** Again and again when a proxy refuses it: no one else knows how the apply ended. */
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
  // The engine can store its state only as long as the job is ours.
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
