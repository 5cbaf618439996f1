import { engineResponsesHeader } from '@groundstate/contract/agent'
import { openEnvelope } from '@groundstate/contract/envelope'
import type { JobClient } from '../server/job-client.ts'

/** For so long (ms) an engine waits for what the server would answer; then it asks itself. */
const RESPONSES_MS = 5_000

/** A response as it goes to the engine. */
export type EngineResponse = { status: number; headers: Record<string, string>; body: Uint8Array }

/** Responses for the engine, by the path below the base of the public API. */
export type EngineResponses = {
  byPath: Map<string, EngineResponse>
  /** The content of the current state, and the URL by which the response about the state names it. */
  state: { url: string; content: Uint8Array } | undefined
}

/**
 * Fetches what the server would answer the engine of a job. Undefined when it can't be had, be it that the server is of an earlier
 * version or has given the job up: the engine then asks the server itself. Does not reject.
 */
export async function fetchEngineResponses(
  client: JobClient,
  signal: AbortSignal,
): Promise<EngineResponses | undefined> {
  try {
    const soon = AbortSignal.any([signal, AbortSignal.timeout(RESPONSES_MS)])
    const envelope = await client.getEngineResponses(soon)
    return envelope === undefined ? undefined : readEngineResponses(envelope)
  } catch {
    return undefined
  }
}

/** Throws for a parcel of another shape, and for one that was cut off. */
function readEngineResponses(envelope: Uint8Array): EngineResponses {
  const opened = openEnvelope(envelope)
  if (opened === undefined) throw new Error('the responses for the engine have no header')
  const { responses, state } = engineResponsesHeader.parse(opened.header)
  let at = 0
  const take = (size: number) => {
    at += size
    if (at > opened.content.length) throw new Error('the responses for the engine were cut off')
    return opened.content.subarray(at - size, at)
  }
  const byPath = new Map(responses.map(({ path, size, ...response }) => [path, { ...response, body: take(size) }]))
  return { byPath, state: state && { url: state.url, content: take(state.size) } }
}
