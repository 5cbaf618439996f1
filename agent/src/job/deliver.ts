import { existsSync } from 'node:fs'
import type { FinishJob } from '@groundstate/contract/agent'
import { type Journal, readExit, storeErroredState } from '../results/journal.ts'
import { openLogStream } from '../results/log-stream.ts'
import { uploadFile } from '../run/artifacts.ts'
import { RequestRejectedError } from '../server/connection.ts'
import type { JobClient } from '../server/job-client.ts'

type Delivery = { workDir: string; signal: AbortSignal }

/** Delivers the rest of a dead agent's apply: the log, a state that was not stored, and the outcome. */
export async function deliverApply(client: JobClient, journal: Journal, outcome: FinishJob, delivery: Delivery) {
  const { signal } = delivery
  const append = (offset: number, bytes: Uint8Array) => client.appendLog(offset, bytes, signal)
  // The server skips repeated bytes, so 0 is safe where a proxy rejects the request.
  const sent = await append(0, Buffer.alloc(0)).catch((error: unknown) => {
    if (error instanceof RequestRejectedError) return 0
    throw error
  })
  using log = openLogStream({ append, file: journal.log, limitBytes: Infinity, sent })
  const missing = await log.close()
  const kept = await sendErroredState(client, journal, delivery)
  await client.finish(withNotes(outcome, [missing, kept]), signal)
}

/** Sends the state that the engine could not store, if any. Keeps a rejected one on the agent, and returns a note about it. */
export async function sendErroredState(client: JobClient, journal: Journal, { workDir, signal }: Delivery) {
  const { erroredState: file } = journal
  try {
    await uploadFile({ client, outbox: undefined, alive: signal }, 'errored-state', file)
    return undefined
  } catch (error) {
    if (!(error instanceof RequestRejectedError)) throw error
    const kept = await storeErroredState(workDir, journal)
    return `The state that the engine could not store was rejected with status ${error.status}. It is kept on the agent: ${kept}`
  }
}

const MAX_MESSAGE_CHARACTERS = 10_000

/** Appends notes to an outcome; they are never truncated, since they may name the only copy of a state. */
export function withNotes(outcome: FinishJob, notes: readonly (string | undefined)[]): FinishJob {
  const text = notes.filter((note) => note !== undefined).join('\n')
  if (text === '') return outcome
  const start = outcome.message?.slice(0, MAX_MESSAGE_CHARACTERS - text.length - 1)
  return { ...outcome, message: start === undefined ? text : `${start}\n${text}` }
}

/** Reconstructs the outcome of an apply whose agent died from the files of its engine; `isComplete` if its journal has the last state. */
export async function readOutcome(journal: Journal, isComplete: boolean): Promise<FinishJob> {
  const exit = await readExit(journal)
  if (exit?.code === 0) {
    const message = 'The agent was killed during the apply. Its engine completed it, and stored its state.'
    return { status: 'finished', exitCode: 0, message }
  }
  const state = existsSync(journal.erroredState)
    ? 'The state that the engine could not store is kept: download it as the errored state of the apply, and compare it ' +
      'with that of the workspace before the next apply.'
    : `The engine ${isComplete ? 'stored' : 'could not store'} the state that it had reached.`
  const message =
    exit === undefined || exit.code === null
      ? 'The agent and its engine were killed during the apply; its progress is unknown. The server has the last state that ' +
        'it received. Compare it with the actual resources before the next apply.'
      : `The agent was killed during the apply, and the engine was interrupted. ${state}`
  return { status: 'errored', exitCode: exit?.code ?? null, message }
}
