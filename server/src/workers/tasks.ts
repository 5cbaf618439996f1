import { gunzipSync } from 'node:zlib'
import { parseExact, printExact } from '@groundstate/contract/exact-json'
import { redactedPlan } from '@groundstate/contract/redacted-plan'
import { holdsSensitiveValue, maskedPlan } from '@groundstate/contract/sensitive-values'
import { messageOf } from '../error-code.ts'
import { AppError } from '../errors.ts'
import { examineState, parseState } from '../terraform-state/examined-state.ts'
import { extractJsonState, extractState } from '../terraform-state/extraction.ts'
import { type KnownValues, recognised } from '../terraform-state/known-values.ts'
import { maskedDiff } from '../terraform-state/masked-diff.ts'
import { packedExtraction } from '../terraform-state/packed-extraction.ts'
import { planChanges } from '../terraform-state/plan-changes.ts'
import { remoteReads } from '../terraform-state/remote-reads.ts'
import { type DiffLimits, type StateDiff, diffStates } from '../terraform-state/state-diff.ts'
import { inspectState, jsonObjectFault, readStateHeader } from '../terraform-state/state-header.ts'

/** Result of reading content. Unreadable content is not an error, since retrying does not help. */
export type Outcome<T> = { ok: true; value: T } | { ok: false; reason: string }

export type TaskOptions = DiffLimits & { sensitive?: KnownValues; digestKey?: string }

const NONE: KnownValues = { texts: new Set() }

/** Operations on content off the event loop. Contents are bytes of JSON. */
export const tasks = {
  examine: ([raw]: Uint8Array[]) => examineState(bufferOf(raw)),
  inspect: ([raw]: Uint8Array[]) => inspectState(bufferOf(raw)),
  readHeader: ([raw]: Uint8Array[]) => readStateHeader(bufferOf(raw)),
  findJsonFault: ([json]: Uint8Array[]) => jsonObjectFault(bufferOf(json)),
  extract: ([raw]: Uint8Array[]) => packedExtraction(extractState(read(raw, 'the state', parseState))),
  extractJson: ([json]: Uint8Array[]) => packedExtraction(extractJsonState(parsed(json, 'the JSON state', parseExact))),
  diff: ([from, to]: Uint8Array[], limits: TaskOptions) => {
    const before = parsed(from, 'the earlier state', parseExact)
    const after = parsed(to, 'the later state', parseExact)
    return Buffer.from(JSON.stringify(diffStates(before, after, limits)))
  },
  redactPlan: ([plan, schemas]: Uint8Array[]) => {
    const document = redactedPlan(parsed(plan, 'the plan', parseExact), parsed(schemas, 'the provider schemas'))
    return Buffer.from(printExact(document))
  },
  maskPlan: ([plan]: Uint8Array[], { sensitive = NONE }: TaskOptions) => {
    if (!mayHold(plan, sensitive)) return bufferOf(plan)
    return Buffer.from(printExact(maskedPlan(parsed(plan, 'the plan', parseExact), recognised(sensitive))))
  },
  holdsSensitive: ([json]: Uint8Array[], { sensitive = NONE }: TaskOptions) =>
    holdsSensitiveValue(parsed(json, 'the value', parseExact), recognised(sensitive)),
  maskDiff: ([diff]: Uint8Array[], { sensitive = NONE }: TaskOptions) =>
    Buffer.from(printExact(maskedDiff(parsed(diff, 'the diff', parseExact) as StateDiff, sensitive))),
  planChanges: ([plan]: Uint8Array[], { digestKey = '' }: TaskOptions) =>
    planChanges(parsed(plan, 'the plan', parseExact), digestKey),
  remoteReads: ([plan, archive]: Uint8Array[]) => remoteReads(parsed(plan, 'the plan'), unpacked(archive)),
}

export type Tasks = typeof tasks
export type TaskName = keyof Tasks

/** Runs a task on this thread. Throws errors that are not caused by the content. */
export function runTask<N extends TaskName>(
  name: N,
  contents: Uint8Array[],
  options: TaskOptions,
): Outcome<ReturnType<Tasks[N]>> {
  try {
    return { ok: true, value: tasks[name](contents, options) as ReturnType<Tasks[N]> }
  } catch (error) {
    if (error instanceof Unreadable || error instanceof AppError) return { ok: false, reason: error.message }
    return tooDeep(error)
  }
}

/** The outcome of a stack overflow, which deeply nested content causes. Throws other errors. */
export function tooDeep(error: unknown): { ok: false; reason: string } {
  if (error instanceof RangeError) return { ok: false, reason: 'the content is nested too deep' }
  throw error
}

/** Number of texts for which searching the bytes is faster than parsing them. */
const FEW_TEXTS = 50

/** Whether JSON that we have printed may contain one of the texts. */
function mayHold(json: Uint8Array | undefined, { texts, former }: KnownValues) {
  if (former || texts.size > FEW_TEXTS) return true
  const content = bufferOf(json)
  return [...texts].some((text) => content.includes(JSON.stringify(text).slice(1, -1)))
}

class Unreadable extends Error {}

function parsed(content: Uint8Array | undefined, noun: string, parse: (text: string) => unknown = JSON.parse): unknown {
  return read(content, noun, (bytes) => parse(bytes.toString('utf8')))
}

function read(content: Uint8Array | undefined, noun: string, parse: (bytes: Buffer) => unknown): unknown {
  try {
    return parse(bufferOf(content))
  } catch (error) {
    throw new Unreadable(`${noun} is not valid JSON: ${messageOf(error)}`, { cause: error })
  }
}

function bufferOf(content: Uint8Array | undefined) {
  const { buffer, byteOffset, byteLength } = content ?? new Uint8Array()
  return Buffer.from(buffer, byteOffset, byteLength)
}

/** Maximum unpacked size of an archive, in bytes. */
const MAX_UNPACKED = 32 * 1024 * 1024

/** The bytes of an unpacked archive as Latin-1 text. */
function unpacked(archive: Uint8Array | undefined) {
  try {
    return gunzipSync(archive ?? new Uint8Array(), { maxOutputLength: MAX_UNPACKED }).toString('latin1')
  } catch (error) {
    throw new Unreadable('the configuration cannot be unpacked', { cause: error })
  }
}
