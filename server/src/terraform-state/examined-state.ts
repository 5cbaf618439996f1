import { hash } from 'node:crypto'
import { parseExact } from '@groundstate/contract/exact-json'
import { AppError } from '../errors.ts'
import { extractState } from './extraction.ts'
import { isJsonObject } from './json-fields.ts'
import { type PackedExtraction, packedExtraction } from './packed-extraction.ts'
import { type InspectedState, readStateHeader } from './state-header.ts'
import { type TopLevel, topLevelFields } from './top-level-fields.ts'

export type ExaminedState = InspectedState & {
  /** Null for content that is encrypted, damaged or of an unknown format. */
  extraction: PackedExtraction | null
}

/** Hashes, scans and extracts a raw state in one task, so that it is sent to a worker only once. */
export function examineState(raw: Buffer): ExaminedState {
  const scanned = topLevelFields(raw)
  const header = readStateHeader(raw, scanned)
  const extraction = header.kind === 'state' ? extractionOf(raw, scanned) : null
  return { md5: hash('md5', raw), header, extraction }
}

function extractionOf(raw: Buffer, scanned: TopLevel) {
  try {
    return packedExtraction(extractState(parseState(raw, scanned)))
  } catch (error) {
    // An unreadable state is stored without an extraction.
    if (error instanceof AppError || error instanceof SyntaxError || error instanceof RangeError) return null
    throw error
  }
}

/**
 * Parses a raw state for extraction: exactly for wide numbers in outputs, but not in attributes, since exact parsing takes three times as
 * long. Throws `SyntaxError`.
 */
export function parseState(raw: Buffer, scanned = topLevelFields(raw)): unknown {
  const document: unknown = JSON.parse(raw.toString('utf8'))
  if (!isJsonObject(document) || !scanned.ok) return document
  // Until format 3, outputs are inside the modules.
  if (document.version !== 4) return parseExact(raw.toString('utf8'))
  const outputs = scanned.fields.get('outputs')
  if (outputs) document.outputs = parseExact(raw.toString('utf8', outputs.start, outputs.end))
  return document
}
