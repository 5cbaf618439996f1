import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { scheduledJob } from '../../../handlers.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import { DAY_MS, GRACE_PERIOD_MS, purgeDeleted } from '../backing-data/service.ts'
import { announceVersions } from '../state-versions/access.ts'
import { deleteContent } from '../state-versions/content.ts'
import { deleteBeyond, listDeletingWorkspaces, listFreeOrganizations, softDeleteBefore } from './store.ts'

export const dataRetentionJobs = [
  scheduledJob('data-retention.apply', '17 3 * * *', applyRetention, { timeLimitMs: 3_600_000 }),
]

/** Versions that are deleted in one transaction. */
const DELETE_BATCH = 200
/** Workspaces that are read at once. */
const WORKSPACE_PAGE = 500

/** Deletes versions that policies and plans no longer keep, and purges soft-deleted ones after their grace period. Runs daily. */
export async function applyRetention(ctx: Ctx, signal: AbortSignal) {
  const now = ctx.now()
  // Only the self-managed edition has statuses of deleted backing data (INTERFACE §4.2.2).
  if (ctx.config.edition === 'self-managed') {
    for (let after = ''; !signal.aborted;) {
      const workspaces = await listDeletingWorkspaces(ctx.db, { after, limit: WORKSPACE_PAGE })
      for (const { id, days } of workspaces) {
        const before = new Date(now.getTime() - days * DAY_MS)
        const deletedAt = ctx.now()
        const purgeAt = new Date(deletedAt.getTime() + GRACE_PERIOD_MS)
        announceVersions(ctx, await softDeleteBefore(ctx.db, id, { before, now: deletedAt, purgeAt }))
      }
      const last = workspaces.at(-1)
      if (!last || workspaces.length < WORKSPACE_PAGE) break
      after = last.id
    }
    await purgeDeleted(ctx, signal)
  }
  for (const { id } of await listFreeOrganizations(ctx.db)) {
    if (signal.aborted) return
    await deleteBeyondFreePlan(ctx, id)
  }
}

/** Keeps the last 100 states of the organization and the newest of each workspace; deletes the others after six months (INTERFACE §6.4). */
async function deleteBeyondFreePlan(ctx: Ctx, organizationId: string) {
  for (;;) {
    const limits = { ...PLAN_LIMITS.free.states, now: ctx.now(), limit: DELETE_BATCH }
    const deleted = await transact(ctx, async (ctx) => deleteBeyond(ctx.db, organizationId, limits))
    announceVersions(ctx, deleted)
    for (const version of deleted) await deleteContent(ctx, version)
    if (deleted.length < DELETE_BATCH) return
  }
}
