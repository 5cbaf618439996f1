import { conflict, preconditionFailed } from '../../../errors.ts'
import type { WorkspaceRow } from '../../workspaces/workspaces/store.ts'

const SERIAL = '/data/attributes/serial'

/** What identifies the content of a state version; early engines wrote no lineage. */
export type StateIdentity = { serial: number; md5: string; lineage?: string | null | undefined }

/** The columns of a workspace's row that identify its newest finalized version, snapshots included. */
type LatestState = Pick<WorkspaceRow, 'latest_state_serial' | 'latest_state_md5' | 'latest_state_lineage'>

/** What the next state has to follow; undefined when there is no state yet. */
export function latestState(workspace: LatestState): StateIdentity | undefined {
  const { latest_state_serial: serial, latest_state_md5: md5, latest_state_lineage: lineage } = workspace
  return serial === null || md5 === null ? undefined : { serial, md5, lineage }
}

/**
 * Refuses a state that would move a workspace backwards or replace another one.
 *
 * The same serial is accepted again only with the same content, since terraform retries an upload whose response it never
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
