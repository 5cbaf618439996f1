import { open, readFile, stat } from 'node:fs/promises'
import type { FinishJob } from '@groundstate/contract/agent'
import { readApplySummary } from './apply-summary.ts'
import type { JobClient } from './client.ts'
import { readExit, type Journal } from './journal.ts'
import { withoutMarks } from './log-stream.ts'

const CHUNK_BYTES = 1024 * 1024

/** Sends what a dead agent has left of an apply: the rest of the log, the state that was not stored, and the outcome. */
export async function deliverLeft(client: JobClient, journal: Journal, outcome: FinishJob, signal: AbortSignal) {
  await sendLogTail(client, journal.log, signal)
  await sendErroredState(client, journal, signal)
  await client.finish(outcome, signal)
}

/** Sends the state that the engine could not store, if there is any. */
export async function sendErroredState(client: JobClient, journal: Journal, signal: AbortSignal) {
  const facts = await stat(journal.erroredState).catch(() => undefined)
  if (facts === undefined) return
  const body =
    facts.size < CHUNK_BYTES ? await readFile(journal.erroredState) : { file: journal.erroredState, size: facts.size }
  await client.putArtifact('errored-state', body, signal)
}

/** Sends what the server does not have yet: it says how much it has. */
async function sendLogTail(client: JobClient, path: string, signal: AbortSignal) {
  const log = await open(path).catch(() => undefined)
  if (log === undefined) return
  try {
    for (let offset = await client.appendLog(0, Buffer.alloc(0), signal); ;) {
      const { buffer, bytesRead } = await log.read(Buffer.alloc(CHUNK_BYTES), 0, CHUNK_BYTES, offset)
      if (bytesRead === 0) return
      const size = await client.appendLog(offset, withoutMarks(buffer.subarray(0, bytesRead)), signal)
      if (size <= offset) throw new Error(`the server has ${size} bytes of the log, and took none of those behind them`)
      offset = size
    }
  } finally {
    await log.close()
  }
}

/** What became of an apply whose agent died, as far as its engine has left a trace. */
export async function readOutcome(journal: Journal, keepsState: boolean): Promise<FinishJob> {
  const exit = await readExit(journal)
  if (exit?.code === 0) {
    const counts = readApplySummary(await readFile(journal.log).catch(() => Buffer.alloc(0)))
    return { status: 'finished', exitCode: 0, counts }
  }
  const state = keepsState
    ? 'The state that the engine could not store is kept: download it as the errored state of the apply, and compare it ' +
      'with that of the workspace before the next apply.'
    : 'The engine stored the state that it had reached.'
  const message =
    exit === undefined || exit.code === null
      ? 'The agent was killed while it applied, and its engine with it: nobody knows how far it came. The state that has ' +
        'reached the server was kept. Compare it with what really exists before the next apply.'
      : `The agent was killed while it applied, and the engine was interrupted. ${state}`
  return { status: 'errored', exitCode: exit?.code ?? null, message }
}
