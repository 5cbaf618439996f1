import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { jobHandler, reaction } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { commitRunChanged } from '../../runs/runs/audit.ts'
import { deliveryDecided } from '../deliveries/decide-delivery.ts'
import { digestPlan } from './digest.ts'
import { reviewPlan } from './review.ts'
import * as store from './store.ts'

/** Retried for about an hour: the JSON of a plan may follow its result. Many run at a time, since a host may be slow. */
const reviewJob = jobKind('reviewed-plans.review', z.object({ runId: z.string() }), { concurrency: 12, retryLimit: 20 })

export const reviewedPlanReactions = [
  reaction(commitRunChanged, async (ctx, { run, hasPlanned }) => {
    if (hasPlanned) await ctx.jobs.enqueue(ctx.db, reviewJob, { runId: run.id })
  }),
  // Plans that wait for the report of a merge need not wait longer.
  reaction(deliveryDecided, async (ctx, { repositoryId, event }) => {
    if (event.kind !== 'pull-request' || event.action !== 'merged') return
    const runIds = await store.listAwaitingReview(ctx.db, repositoryId)
    if (runIds.length > 0)
      await ctx.jobs.enqueueAll(
        ctx.db,
        reviewJob,
        runIds.map((runId) => ({ runId })),
      )
  }),
]

export const reviewedPlanJobs = [jobHandler(reviewJob, review)]

async function review(anyone: Ctx, { runId }: { runId: string }) {
  const ctx = { ...anyone, actor: SYSTEM }
  const run = await store.findPlannedRun(ctx.db, runId)
  if (!run) return
  await digestPlan(ctx, run)
  const later = run.plan_only ? undefined : await reviewPlan(ctx, run)
  if (later) await ctx.jobs.enqueue(ctx.db, reviewJob, { runId }, { startAfter: later })
}
