import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { GRACE_MS } from '../state-versions/backing-data.ts'
import { deleteContent } from '../state-versions/content.ts'
import * as retentionStore from './expired-version-store.ts'
import * as store from '../state-versions/store.ts'

/** Of the free plan: so many of an organization's states are kept whatever their age, and the rest for half a year. */
const FREE_STATES = 100
const FREE_MONTHS = 6
const BATCH = 200

/** For data-retention policies: marks what is older than `before` for the garbage collection, but the current state. */
export async function softDeleteOlderThan(ctx: Ctx, workspaceId: string, before: Date) {
  const now = ctx.now()
  await retentionStore.softDeleteBefore(ctx.db, workspaceId, {
    before,
    now,
    purgeAt: new Date(now.getTime() + GRACE_MS),
  })
}

/** The garbage collection: takes the content of versions whose time to be restored is over. */
export async function purgeDeleted(ctx: Ctx, signal: AbortSignal) {
  for (let count = BATCH; count === BATCH && !signal.aborted;) {
    const due = await retentionStore.listPurgeable(ctx.db, ctx.now(), BATCH)
    for (const { id } of due) {
      const purged = await transact(ctx, async (ctx) => {
        await store.lockWorkspaceOf(ctx.db, id)
        const version = await store.findVersion(ctx.db, id)
        // Restored in the meantime, perhaps.
        if (version?.status !== 'backing_data_soft_deleted') return undefined
        await store.purgeStateVersion(ctx.db, id)
        return version
      })
      if (purged) await deleteContent(ctx, purged)
    }
    count = due.length
  }
}

/**
 * The rule of the free plan (INTERFACE §6.4): at least the last 100 states of the organization and the most recent one of every
 * workspace always stay; what is beyond them goes after six months. A version that goes leaves nothing behind.
 */
export async function deleteBeyondFreePlan(ctx: Ctx, organizationId: string) {
  for (;;) {
    const deleted = await transact(ctx, async (ctx) => {
      return retentionStore.deleteBeyond(ctx.db, organizationId, {
        kept: FREE_STATES,
        months: FREE_MONTHS,
        now: ctx.now(),
        limit: BATCH,
      })
    })
    for (const version of deleted) await deleteContent(ctx, version)
    if (deleted.length < BATCH) return
  }
}
