import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { type JobHandler, jobHandler } from '../../../jobs/handler.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import * as store from './store.ts'
import { deleteBeyondFreePlan, purgeDeleted, softDeleteOlderThan } from './apply.ts'

export const RETENTION = jobKind('data-retention.apply', z.object({}), { concurrency: 1, timeLimitMs: 3_600_000 })

const DAY_MS = 86_400_000
const PAGE = 500

/** Once a day: what policies and plans no longer keep goes, and what was soft-deleted long enough ago is purged. */
export async function applyRetention(ctx: Ctx, signal: AbortSignal) {
  const now = ctx.now()
  // Statuses of deleted backing data exist in the self-managed edition only (INTERFACE §4.2.2).
  if (ctx.config.edition === 'self-managed') {
    for (let after = ''; !signal.aborted;) {
      const workspaces = await store.listDeletingWorkspaces(ctx.db, { after, limit: PAGE })
      for (const { id, days } of workspaces) {
        await softDeleteOlderThan(ctx, id, new Date(now.getTime() - days * DAY_MS))
      }
      const last = workspaces.at(-1)
      if (!last || workspaces.length < PAGE) break
      after = last.id
    }
    await purgeDeleted(ctx, signal)
  }
  for (const { id } of await store.listFreeOrganizations(ctx.db)) {
    if (signal.aborted) return
    await deleteBeyondFreePlan(ctx, id)
  }
}

export const dataRetentionJobs: readonly JobHandler[] = [
  jobHandler(RETENTION, async (ctx, _, signal) => applyRetention(ctx, signal), { schedule: '17 3 * * *' }),
]
