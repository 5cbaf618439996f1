import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import { type JobHandler, jobHandler } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { PLAN_LIMITS } from '../../organizations/organizations/quotas.ts'
import { purgeDeleted } from '../backing-data/jobs.ts'
import { DAY_MS, GRACE_PERIOD_MS } from '../backing-data/service.ts'
import { announceVersions } from '../state-versions/audit.ts'
import { deleteContent } from '../state-versions/content.ts'
import { deleteBeyond, listDeletingWorkspaces, listFreeOrganizations, softDeleteBefore } from './store.ts'

const retention = jobKind('data-retention.apply', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

export const dataRetentionJobs: readonly JobHandler[] = [
  jobHandler(retention, async (ctx, _, signal) => applyRetention(ctx, signal), { schedule: '17 3 * * *' }),
]

/** Versions that are deleted in one transaction. */
const DELETE_BATCH = 200
/** Workspaces that are read at once. */
const WORKSPACE_PAGE = 500

/** Deletes what policies and plans no longer keep, and purges what was soft-deleted long enough ago. Runs once a day. */
export async function applyRetention(ctx: Ctx, signal: AbortSignal) {
  const now = ctx.now()
  // Statuses of deleted backing data exist in the self-managed edition only (INTERFACE §4.2.2).
  if (ctx.config.edition === 'self-managed') {
    for (let after = ''; !signal.aborted;) {
      const workspaces = await listDeletingWorkspaces(ctx.db, { after, limit: WORKSPACE_PAGE })
      for (const { id, days } of workspaces) {
        await softDeleteOlderThan(ctx, id, new Date(now.getTime() - days * DAY_MS))
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

/** Soft-deletes the versions that are older than `before`, except the current state. */
async function softDeleteOlderThan(ctx: Ctx, workspaceId: string, before: Date) {
  const now = ctx.now()
  const purgeAt = new Date(now.getTime() + GRACE_PERIOD_MS)
  announceVersions(ctx, await softDeleteBefore(ctx.db, workspaceId, { before, now, purgeAt }))
}

/**
 * The rule of the free plan (INTERFACE §6.4): at least the last 100 states of the organization and the most recent one of every
 * workspace always stay; the others are deleted after six months, with their metadata.
 */
async function deleteBeyondFreePlan(ctx: Ctx, organizationId: string) {
  for (;;) {
    const deleted = await transact(ctx, async (ctx) => {
      return deleteBeyond(ctx.db, organizationId, {
        ...PLAN_LIMITS.free.states,
        now: ctx.now(),
        limit: DELETE_BATCH,
      })
    })
    announceVersions(ctx, deleted)
    for (const version of deleted) await deleteContent(ctx, version)
    if (deleted.length < DELETE_BATCH) return
  }
}
