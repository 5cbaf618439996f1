import type { Ctx } from '../../../app.ts'
import { conflict, preconditionFailed } from '../../../errors.ts'
import { describeLock, isLockedBy } from '../../workspaces/workspaces/lock.ts'
import type { Lock, WorkspaceRow } from '../../workspaces/workspaces/store.ts'
import { findRunStatus } from './store.ts'

const SERIAL = '/data/attributes/serial'

/** Identity of a state version's content; early engines wrote no lineage. */
type StateIdentity = { serial: number; md5: string; lineage?: string | null | undefined }

/** The identity of a workspace's newest finalized version, snapshots included. */
export type LatestState = Pick<WorkspaceRow, 'latest_state_serial' | 'latest_state_md5' | 'latest_state_lineage'>

export function latestState(workspace: LatestState): StateIdentity | undefined {
  const { latest_state_serial: serial, latest_state_md5: md5, latest_state_lineage: lineage } = workspace
  return serial === null || md5 === null ? undefined : { serial, md5, lineage }
}

/**
 * Rejects a state that would move a workspace backwards or replace another one. The same serial is accepted again only with the same
 * content, since terraform retries an upload whose response was lost. `force` skips all checks, like `terraform state push -force`.
 *
 * Throws `precondition-failed` for a serial that is behind, `conflict` for different content or another lineage.
 */
export function checkSerial(current: StateIdentity | undefined, next: StateIdentity & { force?: boolean | null }) {
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
    const detail = `lineage ${next.lineage} is not the current state's lineage ${current.lineage}`
    throw conflict(detail, '/data/attributes/lineage')
  }
}

/** Throws `conflict`, with the name of the holder, unless the actor holds the workspace's lock. */
export async function checkHoldsLock(ctx: Ctx, workspace: Lock & { name: string }) {
  if (isLockedBy(workspace, ctx.actor)) return checkApplies(ctx)
  const state = await describeLock(ctx, workspace)
  const remedy =
    workspace.locked_by_id === null ? 'lock it before you write its state' : 'only they can write its state'
  throw conflict(`the workspace ${workspace.name} ${state}: ${remedy}`)
}

/** Only an apply may write state: code in a plan has the run's token too, and may come from users who must not apply. */
async function checkApplies({ db, actor }: Ctx) {
  if (actor.kind !== 'run') return
  const status = await findRunStatus(db, actor.runId)
  if (status !== 'applying') {
    throw conflict(`the run ${actor.runId} is ${status ?? 'deleted'}: a run may write state only while it applies`)
  }
}
