import { invalid } from '../errors.ts'
import { topLevelFields } from './top-level-fields.ts'

/**
 * The same state with another serial. Only the digits of the top-level `serial` change, so that a rollback stores the bytes of
 * its target in every other place. It works for encrypted envelopes too. A state without a serial, which counts as 0 for the
 * engine, is given one.
 *
 * Throws `invalid` when `raw` is no JSON object, or its serial is no number.
 */
export function rewriteSerial(raw: Buffer, serial: number): Buffer {
  if (!Number.isSafeInteger(serial) || serial < 0) throw new RangeError(`not a serial: ${serial}`)
  const scanned = topLevelFields(raw)
  if (!scanned.ok) throw invalid(`the state ${scanned.reason}`)
  const span = scanned.fields.get('serial')
  if (span === undefined) {
    const at = raw.indexOf('{') + 1
    const field = `"serial":${serial}${scanned.fields.size > 0 ? ',' : ''}`
    return Buffer.concat([raw.subarray(0, at), Buffer.from(field), raw.subarray(at)])
  }
  const text = raw.toString('latin1', span.start, span.end)
  // The engine reads 1e2 as a hundred, and null as none.
  if (!/^(?:[\d.eE+-]+|null)$/.test(text)) throw invalid(`the state has serial ${text}, but it must be a number`)
  return Buffer.concat([raw.subarray(0, span.start), Buffer.from(String(serial)), raw.subarray(span.end)])
}
