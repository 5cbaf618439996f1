import { hash } from 'node:crypto'
import { messageOf } from '../error-code.ts'
import { type Span, type TopLevel, topLevelFields } from './top-level-fields.ts'

/** Maximum size of a state that is parsed as a whole, in bytes. */
const PARSE_WHOLE = 64 * 1024

/**
 * Top-level fields of a raw state. `encrypted` is OpenTofu's envelope, of which only serial and lineage can be read; `invalid` has a reason that
 * completes the sentence "the state …". As in the engine, a missing serial is 0, and an empty lineage counts as none.
 */
export type StateHeader =
  | {
      kind: 'state'
      /** Version of the format: 4, or up to 3 before terraform 0.12. */
      version: number
      terraformVersion: string | undefined
      serial: number
      lineage: string | undefined
    }
  | { kind: 'encrypted'; serial: number; lineage: string | undefined }
  | { kind: 'invalid'; reason: string }

/** Data that is checked on upload. */
export type InspectedState = { md5: string; header: StateHeader }

export function inspectState(raw: Buffer): InspectedState {
  return { md5: hash('md5', raw), header: readStateHeader(raw) }
}

class Unreadable extends Error {}

/**
 * Reads the header of a raw state without parsing its resources. Small states are also parsed as a whole, to report any defect; in large ones only
 * the top level, brackets and quotes are checked, and the extraction finds the rest.
 */
export function readStateHeader(raw: Buffer, scanned = topLevelFields(raw)): StateHeader {
  try {
    return header(raw, scanned)
  } catch (error) {
    if (error instanceof Unreadable) return { kind: 'invalid', reason: error.message }
    throw error
  }
}

/** Reason why content is not a JSON object, to complete "the JSON state …"; undefined if it is one. Checks as much as `readStateHeader`. */
export function jsonObjectFault(content: Buffer): string | undefined {
  const scanned = topLevelFields(content)
  if (!scanned.ok) return scanned.reason
  return content.length <= PARSE_WHOLE ? parseFault(content) : undefined
}

function header(raw: Buffer, scanned: TopLevel): StateHeader {
  const foreign = foreignEncoding(raw)
  if (foreign !== undefined) throw new Unreadable(`starts with a ${foreign}, but the engine reads only plain UTF-8`)
  if (!scanned.ok) throw new Unreadable(scanned.reason)
  const fault = raw.length <= PARSE_WHOLE ? parseFault(raw) : undefined
  if (fault !== undefined) throw new Unreadable(fault)

  const { fields } = scanned
  const value = (name: string) => fieldValue(raw, fields.get(name), name)
  const serial = wholeNumber(value('serial'), 'serial') ?? 0
  const lineage = text(value('lineage'), 'lineage') || undefined
  if (fields.has('encryption_version') || fields.has('encrypted_data')) {
    if (!text(value('encryption_version'), 'encryption_version')) throw new Unreadable('has no encryption_version')
    if (isAbsent(raw, fields.get('encrypted_data'))) throw new Unreadable('has no encrypted_data')
    return { kind: 'encrypted', serial, lineage }
  }
  const version = wholeNumber(value('version'), 'version')
  if (version === undefined) throw new Unreadable('has no version at its top level')
  if (version === 0) throw new Unreadable('has version 0, but formats start at 1')
  if (version > MAX_VERSION) throw new Unreadable(`has version ${version}, which is not a known format`)
  const terraformVersion = text(value('terraform_version'), 'terraform_version') || undefined
  return { kind: 'state', version, terraformVersion, serial, lineage }
}

function foreignEncoding(raw: Buffer) {
  if (raw[0] === 0xef && raw[1] === 0xbb && raw[2] === 0xbf) return 'byte order mark'
  if ((raw[0] === 0xff && raw[1] === 0xfe) || (raw[0] === 0xfe && raw[1] === 0xff)) return 'UTF-16 byte order mark'
  return undefined
}

function parseFault(content: Buffer) {
  try {
    JSON.parse(content.toString('utf8'))
    return undefined
  } catch (error) {
    return `is not valid JSON: ${messageOf(error)}`
  }
}

/** Far above the known formats, 1 to 4. */
const MAX_VERSION = 1_000_000

/** Maximum size of a lineage or version, in bytes. `encrypted_data` is not read. */
const MAX_FIELD = 4096

function fieldValue(raw: Buffer, span: Span | undefined, name: string): unknown {
  if (span === undefined) return undefined
  if (span.end - span.start > MAX_FIELD) throw new Unreadable(`has a ${name} of more than ${MAX_FIELD} bytes`)
  try {
    return JSON.parse(raw.toString('utf8', span.start, span.end)) ?? undefined
  } catch (error) {
    throw new Unreadable(`has a ${name} that is not valid JSON`, { cause: error })
  }
}

function isAbsent(raw: Buffer, span: Span | undefined) {
  return span === undefined || raw.toString('latin1', span.start, span.start + 4) === 'null'
}

function wholeNumber(value: unknown, name: string) {
  if (value === undefined) return undefined
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return value
  throw new Unreadable(`has ${name} ${JSON.stringify(value)}, but it must be a whole number from 0 to 2^53 - 1`)
}

function text(value: unknown, name: string) {
  if (value !== undefined && typeof value !== 'string') {
    throw new Unreadable(`has ${name} ${JSON.stringify(value)}, but it must be a string`)
  }
  // The database cannot store these characters, and no engine writes them.
  if (value?.includes('\0') || value?.isWellFormed() === false) {
    throw new Unreadable(`has ${name} ${JSON.stringify(value)}, with a character that can't be stored`)
  }
  return value
}
