import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { send, type Outcome, type RequestOptions } from './client.ts'

/** An event at the receiver. `port` is that of the connection. `id` is a task result, or a run, trigger and status. */
export type ReceiverEntry =
  | {
      kind: 'request'
      id: string
      run: string
      at: number
      port: number
      callback?: { url: string; token: string } | undefined
    }
  | { kind: 'callback'; id: string; status: number; message: string; at: number }

export function readReceiverJournal(path: string): ReceiverEntry[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line.endsWith('}'))
    .map((line) => JSON.parse(line) as ReceiverEntry)
}

/** The possible values of which a replica must return one in the end, the same on all replicas. */
export type Fact = { read: (url: string) => Promise<string>; possible: readonly string[] }

/** The value of what does not exist. */
export const ABSENT = 'absent'

/** The writes of clients, as far as they know. */
export type Journal = {
  facts: Map<string, Fact>
  /** Changes that the audit trail must have, as `resource id action`. */
  audits: string[]
  /** Acknowledged writes: when, and their kind. */
  writes: { at: number; kind: string }[]
  /** Requests of which nobody knows whether they took effect: how many, by the reason. */
  unknown: Record<string, number>
  /** Problems during the run. */
  problems: string[]
  runs: Set<string>
}

export function createJournal(): Journal {
  return { facts: new Map(), audits: [], writes: [], unknown: {}, problems: [], runs: new Set() }
}

export type Write = {
  kind: string
  url: string
  request: readonly [string, string]
  body?: unknown
  options?: RequestOptions
}

/** Pause after a failed request, in ms. */
const RETRY_MS = 200

/** Sends a change and counts its outcome; a refusal that is not expected is a problem. */
export async function write(
  journal: Journal,
  { kind, url, request, body, options }: Write,
  isRefusable = false,
): Promise<Outcome> {
  const outcome = await send(url, request, body, options)
  if (outcome.kind === 'acknowledged') journal.writes.push({ at: Date.now(), kind })
  if (outcome.kind === 'unknown') {
    const reason = `${kind}: ${outcome.reason}`
    journal.unknown[reason] = (journal.unknown[reason] ?? 0) + 1
    await pause(RETRY_MS)
  }
  // Admission control refuses before anything happens.
  if (outcome.kind === 'refused' && !isRefusable && outcome.status !== 429)
    journal.problems.push(`${request.join(' ')} was refused: ${outcome.status} ${outcome.detail}`)
  return outcome
}

/** Reads a value from the body of a response; `ABSENT` for 404 and 401. Throws if the replica did not respond. */
export function reading(path: string, pick: (body: any) => string, options: RequestOptions = {}) {
  return async (url: string) => {
    const outcome = await send(url, ['GET', path], undefined, { timeoutMs: 30_000, ...options })
    if (outcome.kind === 'acknowledged') return pick(outcome.body)
    if (outcome.kind === 'refused' && [401, 404].includes(outcome.status)) return ABSENT
    throw new Error(`GET ${url}${path}: ${JSON.stringify(outcome)}`)
  }
}
