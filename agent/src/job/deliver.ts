import { readFile, stat } from 'node:fs/promises'
import type { FinishJob } from '@groundstate/contract/agent'
import { type Journal, readExit, storeErroredState } from '../results/journal.ts'
import { openLogStream } from '../results/log-stream.ts'
import { readApplySummary } from '../run/summaries.ts'
import { RequestRejectedError } from '../server/connection.ts'
import type { JobClient } from '../server/job-client.ts'

/** Smaller files are sent from memory, in bytes. */
const SMALL_BYTES = 1024 * 1024

/** Delivers what a dead agent left of an apply: the rest of the log, a state that was not stored, and the outcome. */
export async function deliverLeft(
  client: JobClient,
  journal: Journal,
  outcome: FinishJob,
  { workDir, signal }: Delivery,
) {
  const append = (offset: number, bytes: Uint8Array) => client.appendLog(offset, bytes, signal)
  using log = openLogStream({ append, file: journal.log, limitBytes: Infinity, sent: await sizeAt(append) })
  const missing = await log.close()
  const kept = await sendErroredState(client, journal, { workDir, signal })
  await client.finish(withNotes(outcome, [missing, kept]), signal)
}

/** Bytes of a log that the server has. It skips repeated bytes, so 0 is safe where a proxy blocks the request. */
async function sizeAt(append: (offset: number, bytes: Uint8Array) => Promise<number>) {
  try {
    return await append(0, Buffer.alloc(0))
  } catch (error) {
    if (error instanceof RequestRejectedError) return 0
    throw error
  }
}

type Delivery = { workDir: string; signal: AbortSignal }

/**
 * Sends the state that the engine could not store, if any. A refused one, for example too large for a proxy,
 * is kept on the agent. Returns a note about it.
 */
export async function sendErroredState(
  client: JobClient,
  journal: Journal,
  { workDir, signal }: Delivery,
): Promise<string | undefined> {
  const facts = await stat(journal.erroredState).catch(() => undefined)
  if (facts === undefined) return undefined
  const body =
    facts.size < SMALL_BYTES ? await readFile(journal.erroredState) : { file: journal.erroredState, size: facts.size }
  try {
    await client.putArtifact('errored-state', body, signal)
    return undefined
  } catch (error) {
    if (!(error instanceof RequestRejectedError)) throw error
    const kept = await storeErroredState(workDir, journal.facts().job.runId, journal.erroredState)
    return `The state that the engine could not store was refused with status ${error.status}. It is kept on the agent: ${kept}`
  }
}

/** Maximum length of an outcome's message. */
const MAX_MESSAGE_CHARACTERS = 10_000

/** The outcome with notes appended, which are never truncated: they may name the only copy of a state. */
export function withNotes(outcome: FinishJob, notes: readonly (string | undefined)[]): FinishJob {
  const said = notes.filter((note) => note !== undefined).join('\n')
  if (said === '') return outcome
  const start = outcome.message?.slice(0, MAX_MESSAGE_CHARACTERS - said.length - 1)
  return { ...outcome, message: start === undefined ? said : `${start}\n${said}` }
}

/** Outcome of an apply whose agent died, reconstructed from the traces of its engine. */
export async function readOutcome(journal: Journal, keepsState: boolean): Promise<FinishJob> {
  const exit = await readExit(journal)
  if (exit?.code === 0) {
    const counts = readApplySummary(await readFile(journal.log).catch(() => Buffer.alloc(0)))
    const message =
      'The agent was killed while it applied. Its engine came to its end all the same, and stored its state.'
    return { status: 'finished', exitCode: 0, counts, message }
  }
  const state = keepsState
    ? 'The state that the engine could not store is kept: download it as the errored state of the apply, and compare it ' +
      'with that of the workspace before the next apply.'
    : 'The engine stored the state that it had reached.'
  const message =
    exit === undefined || exit.code === null
      ? 'The agent was killed while it applied, and its engine with it; its progress is unknown. The state that has ' +
        'reached the server was kept. Compare it with what really exists before the next apply.'
      : `The agent was killed while it applied, and the engine was interrupted. ${state}`
  return { status: 'errored', exitCode: exit?.code ?? null, message }
}
