import { conflict, invalid, preconditionFailed } from '../../../errors.ts'
import { topLevel } from '../../../terraform-state/top-level.ts'

/**
 * The same state with another serial: only the digits of the top-level `serial` change, so that what a rollback stores
 * is the target's bytes in every other place. Works for encrypted envelopes too. A state without a serial, which counts as 0
 * for the engine as for us, is given one.
 *
 * Throws `invalid` when `raw` is no JSON object, or its serial is no number.
 */
export function rewriteSerial(raw: Buffer, serial: number): Buffer {
  if (!Number.isSafeInteger(serial) || serial < 0) throw new RangeError(`not a serial: ${serial}`)
  const scanned = topLevel(raw)
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

const SERIAL = '/data/attributes/serial'

/** What identifies the content of a state version; early engines wrote no lineage. */
export type StateIdentity = { serial: number; md5: string; lineage?: string | null | undefined }

/**
 * Refuses a state that would move a workspace backwards or replace another one.
 *
 * The same serial is accepted again only with the same content, since terraform retries an upload whose answer it never
 * saw. `force` skips all three rules, as `terraform state push -force` does with its own.
 *
 * Throws `precondition-failed` for a serial that is behind, `conflict` for another content or lineage.
 */
export function checkSerial(
  current: StateIdentity | undefined,
  next: StateIdentity & { force?: boolean | null | undefined },
): void {
  if (current === undefined || next.force === true) return
  if (next.serial < current.serial) {
    throw preconditionFailed(`serial ${next.serial} is behind the current serial ${current.serial}`, SERIAL)
  }
  if (next.serial === current.serial) {
    if (next.md5 === current.md5) return
    throw conflict(
      `serial ${next.serial} already exists with md5 ${current.md5}, but this state has md5 ${next.md5}; ` +
        `the next serial is ${current.serial + 1}`,
      SERIAL,
    )
  }
  if (next.lineage && current.lineage && next.lineage !== current.lineage) {
    throw conflict(
      `lineage ${next.lineage} is not the current state's lineage ${current.lineage}`,
      '/data/attributes/lineage',
    )
  }
}
