import { hash } from 'node:crypto'
import { parseExact } from '@groundstate/contract/exact-json'
import { AppError } from '../errors.ts'
import { extractState } from './extraction.ts'
import { isJsonObject } from './json-fields.ts'
import { type PackedExtraction, packedExtraction } from './packed-extraction.ts'
import { type InspectedState, readStateHeader } from './state-header.ts'
import { type TopLevel, topLevelFields } from './top-level-fields.ts'

/** Facts about a raw state. */
export type ExaminedState = InspectedState & {
  /** Null when the content can't be extracted, because it is encrypted, damaged or of an unknown format. */
  extraction: PackedExtraction | null
}

/** Reads all of a raw state at once: to hash, scan and extract it apart would read it, and bring it to a worker, several times. */
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
    // A state that can't be read is kept all the same, and shows nothing of its content.
    if (error instanceof AppError || error instanceof SyntaxError || error instanceof RangeError) return null
    throw error
  }
}

/**
 * The document of a raw state as far as an extraction needs it: every digit of wide numbers in the outputs, which it shows, but
 * not in the attributes, which it leaves out. Looking for wide numbers takes three times as long as parsing. Throws `SyntaxError`.
 */
export function parseState(raw: Buffer, scanned = topLevelFields(raw)): unknown {
  const document: unknown = JSON.parse(raw.toString('utf8'))
  if (!isJsonObject(document) || !scanned.ok) return document
  // Until format 3 outputs are within the modules.
  if (document.version !== 4) return parseExact(raw.toString('utf8'))
  const outputs = scanned.fields.get('outputs')
  if (outputs) document.outputs = parseExact(raw.toString('utf8', outputs.start, outputs.end))
  return document
}
