import { engineAnswersHeader } from '@groundstate/contract/agent'
import { openParcel } from '@groundstate/contract/parcel'
import type { JobClient } from './job-client.ts'

/** For so long (ms) an engine waits for what the server would answer; then it asks itself. */
const ANSWERS_MS = 5_000

/** An answer as it goes to the engine. */
export type EngineAnswer = { status: number; headers: Record<string, string>; body: Uint8Array }

/** What an engine will ask for, by the path below the base of the public API. */
export type EngineAnswers = {
  byPath: Map<string, EngineAnswer>
  /** The content of the current state, and the URL by which the answer about the state names it. */
  state: { url: string; content: Uint8Array } | undefined
}

/**
 * Fetches what the server would answer the engine of a job. Undefined when it can't be had, be it that the server is of an earlier
 * version or has given the job up: the engine then asks the server itself. Does not reject.
 */
export async function fetchEngineAnswers(client: JobClient, signal: AbortSignal): Promise<EngineAnswers | undefined> {
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(ANSWERS_MS)])
    const parcel = await client.getEngineAnswers(soon)
    return parcel === undefined ? undefined : readEngineAnswers(parcel)
  } catch {
    return undefined
  }
}

/** Throws for a parcel of another shape, and for one that was cut off. */
function readEngineAnswers(parcel: Uint8Array): EngineAnswers {
  const opened = openParcel(parcel)
  if (opened === undefined) throw new Error('the answers for the engine have no header')
  const { answers, state } = engineAnswersHeader.parse(opened.header)
  let at = 0
  const take = (size: number) => {
    at += size
    if (at > opened.content.length) throw new Error('the answers for the engine were cut off')
    return opened.content.subarray(at - size, at)
  }
  const byPath = new Map(answers.map(({ path, size, ...answer }) => [path, { ...answer, body: take(size) }]))
  return { byPath, state: state && { url: state.url, content: take(state.size) } }
}
