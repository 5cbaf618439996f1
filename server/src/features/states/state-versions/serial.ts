import { conflict, preconditionFailed } from '../../../errors.ts'

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
