import { invalid } from '../errors.ts'
import { topLevelFields } from './top-level-fields.ts'

/**
 * Replaces the serial of a state, encrypted or not. Only the digits of the top-level `serial` change, so a rollback stores the exact bytes of its
 * target otherwise. A missing serial, which the engine reads as 0, is added. Throws `invalid` if `raw` is not a JSON object or its serial not a
 * number.
 */
export function rewriteSerial(raw: Buffer, serial: number): Buffer {
  if (!Number.isSafeInteger(serial) || serial < 0) throw new RangeError(`invalid serial ${serial}`)
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
