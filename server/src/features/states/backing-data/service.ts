import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { badRequest, notFound } from '../../../errors.ts'
import { type StateVersion, requireStateVersion } from '../state-versions/access.ts'
import { stateVersionAudit } from '../state-versions/audit.ts'
import { deleteContent } from '../state-versions/content.ts'
import { isOwner } from '../state-versions/resource.ts'
import * as store from '../state-versions/store.ts'

/**
 * The version, for the actions on its backing data: they are for owners, and for the self-managed edition (INTERFACE §4.9.5).
 * Throws `not-found` for everyone else.
 */
export async function requireOwnedStateVersion(ctx: Ctx, id: string) {
  if (ctx.config.edition === 'hosted') throw notFound('state version')
  const found = await requireStateVersion(ctx, id)
  if (!isOwner(found.access)) throw notFound('state version')
  return found
}

/**
 * Marks the content of a version for the daily purge, which deletes it after `days`. Until then it can't be read, but restored.
 *
 * Each of these actions takes a version from `requireOwnedStateVersion`, and throws `bad-request` for a transition that the
 * status does not allow.
 */
export async function softDeleteBackingData(ctx: Ctx, found: StateVersion, days: number | undefined) {
  return transition(ctx, found, 'backing_data_soft_deleted', async (ctx, version) => {
    const now = ctx.now()
    await store.updateStateVersion(ctx.db, version.id, {
      status: 'backing_data_soft_deleted',
      soft_deleted_at: now,
      purge_at: new Date(now.getTime() + (days === undefined ? GRACE_PERIOD_MS : days * DAY_MS)),
    })
  })
}

export async function restoreBackingData(ctx: Ctx, found: StateVersion) {
  return transition(ctx, found, 'finalized', async (ctx, version) => {
    await store.updateStateVersion(ctx.db, version.id, { status: 'finalized', soft_deleted_at: null, purge_at: null })
  })
}

export async function permanentlyDeleteBackingData(ctx: Ctx, found: StateVersion) {
  return transition(ctx, found, 'backing_data_permanently_deleted', async (ctx, version) => {
    await store.purgeStateVersion(ctx.db, version.id)
  })
}

type Target = 'finalized' | 'backing_data_soft_deleted' | 'backing_data_permanently_deleted'

const FROM = {
  backing_data_soft_deleted: 'finalized',
  finalized: 'backing_data_soft_deleted',
  backing_data_permanently_deleted: 'backing_data_soft_deleted',
} as const satisfies Record<Target, store.PresentedRow['status']>

const ACTIONS = {
  backing_data_soft_deleted: 'soft_delete_backing_data',
  finalized: 'restore_backing_data',
  backing_data_permanently_deleted: 'permanently_delete_backing_data',
} as const satisfies Record<Target, string>

async function transition(
  ctx: Ctx,
  found: StateVersion,
  to: Target,
  change: (ctx: TransactionCtx, version: store.PresentedRow) => Promise<void>,
) {
  const { id } = found
  const { before, after } = await transact(ctx, async (ctx) => {
    const locked = await store.lockWorkspaceOf(ctx.db, id)
    const before = await store.findVersion(ctx.db, id)
    if (!locked || !before) throw notFound('state version')
    const isCurrent = id === locked.current_state_version_id
    const isNeeded = isCurrent || id === locked.latest_state_version_id
    if (before.status !== FROM[to] || (isNeeded && to !== 'finalized')) {
      const needed = isCurrent
        ? 'it is the current state version'
        : 'it becomes the current state version with the unlock'
      const reason = isNeeded ? needed : `it is ${before.status}`
      throw badRequest(`transition not allowed: ${id} can't become ${to}, ${reason}`)
    }
    await change(ctx, before)
    await recordAudit(ctx, stateVersionAudit({ ...found, serial: before.serial }, ACTIONS[to]))
    return { before, after: await store.findVersion(ctx.db, id) }
  })
  if (!after) throw notFound('state version')
  // The row no longer names the content: should the process die here, the sweep of orphans deletes it.
  if (to === 'backing_data_permanently_deleted') await deleteContent(ctx, before)
  return { ...found, ...after }
}

export const DAY_MS = 86_400_000

/** How long soft-deleted backing data can be restored unless the request says otherwise: a week, in ms. */
export const GRACE_PERIOD_MS = 7 * DAY_MS
