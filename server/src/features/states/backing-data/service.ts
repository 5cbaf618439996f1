import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, notFound } from '../../../errors.ts'
import {
  type StateVersion,
  announceVersions,
  requireStateVersion,
  stateVersionAudit,
} from '../state-versions/access.ts'
import { deleteContent } from '../state-versions/content.ts'
import { isOwner } from '../state-versions/resource.ts'
import * as store from '../state-versions/store.ts'

/** The version, for actions on its backing data. Throws `not-found` except for owners in the self-managed edition (INTERFACE §4.9.5). */
export async function requireOwnedStateVersion(ctx: Ctx, id: string) {
  if (ctx.config.edition === 'hosted') throw notFound('state version')
  const version = await requireStateVersion(ctx, id)
  if (!isOwner(version.access)) throw notFound('state version')
  return version
}

const TRANSITIONS = {
  soft_delete_backing_data: { from: 'finalized', to: 'backing_data_soft_deleted' },
  restore_backing_data: { from: 'backing_data_soft_deleted', to: 'finalized' },
  permanently_delete_backing_data: { from: 'backing_data_soft_deleted', to: 'backing_data_permanently_deleted' },
} as const
type Action = keyof typeof TRANSITIONS

/**
 * Soft-deletes the content of a version, restores it, or deletes it permanently. Soft-deleted content cannot be read, and is purged after
 * `days`. `version` comes from `requireOwnedStateVersion`. Throws `bad-request` for a transition that the status does not allow.
 */
export async function changeBackingData(
  ctx: Ctx,
  version: StateVersion,
  { action, days }: { action: Action; days?: number | undefined },
): Promise<StateVersion> {
  const { id } = version
  const { from, to } = TRANSITIONS[action]
  const { before, after } = await transact(ctx, async (ctx) => {
    const locked = await store.lockWorkspaceOf(ctx.db, id)
    const before = await store.findVersion(ctx.db, id)
    if (!locked || !before) throw notFound('state version')
    const isCurrent = id === locked.current_state_version_id
    const isNeeded = isCurrent || id === locked.latest_state_version_id
    if (before.status !== from || (isNeeded && to !== 'finalized')) {
      const needed = isCurrent ? 'it is the current state version' : 'it becomes the current state version on unlock'
      throw badRequest(
        `transition not allowed: ${id} can't become ${to}, ${isNeeded ? needed : `it is ${before.status}`}`,
      )
    }
    if (action === 'permanently_delete_backing_data') await store.purgeStateVersion(ctx.db, id)
    else await store.updateStateVersion(ctx.db, id, { status: to, ...deletionColumns(ctx, action, days) })
    await recordAudit(ctx, stateVersionAudit({ ...version, serial: before.serial }, action))
    return { before, after: await store.findVersion(ctx.db, id) }
  })
  if (!after) throw notFound('state version')
  // The row no longer refers to the content: if the process dies here, the sweep of orphans deletes it.
  if (action === 'permanently_delete_backing_data') await deleteContent(ctx, before)
  return { ...version, ...after }
}

export const DAY_MS = 86_400_000

/** Default time for which soft-deleted backing data can be restored: a week. */
export const GRACE_PERIOD_MS = 7 * DAY_MS

function deletionColumns(ctx: Ctx, action: Action, days: number | undefined) {
  if (action === 'restore_backing_data') return { soft_deleted_at: null, purge_at: null }
  const now = ctx.now()
  const graceMs = days === undefined ? GRACE_PERIOD_MS : days * DAY_MS
  return { soft_deleted_at: now, purge_at: new Date(now.getTime() + graceMs) }
}

const PURGE_BATCH = 200

/** Deletes the content of versions that can no longer be restored. */
export async function purgeDeleted(ctx: Ctx, signal: AbortSignal) {
  for (let count = PURGE_BATCH; count === PURGE_BATCH && !signal.aborted;) {
    const due = await store.listPurgeable(ctx.db, ctx.now(), PURGE_BATCH)
    for (const { id } of due) {
      const purged = await transact(ctx, async (ctx) => {
        const workspace = await store.lockWorkspaceOf(ctx.db, id)
        const version = await store.findVersion(ctx.db, id)
        // It may have been restored in the meantime.
        if (version?.status !== 'backing_data_soft_deleted') return undefined
        await store.purgeStateVersion(ctx.db, id)
        if (workspace) announceVersions(ctx, [{ ...version, organization_id: workspace.organization_id }])
        return version
      })
      if (purged) await deleteContent(ctx, purged)
    }
    count = due.length
  }
}
