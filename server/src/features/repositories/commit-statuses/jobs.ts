import type { Ctx, TransactionCtx } from '../../../app.ts'
import { reaction, scheduledJob } from '../../../handlers.ts'
import { dueBefore } from '../../../jobs/expire.ts'
import { commitRunChanged } from '../../runs/runs/audit.ts'
import { credentialsChanged } from '../../vcs/oauth-clients/service.ts'
import { deliveryDecided } from '../deliveries/decide-delivery.ts'
import { planDigested } from '../reviewed-plans/digest.ts'
import { planReviewed } from '../reviewed-plans/review.ts'
import * as logStore from './log-store.ts'
import * as queue from './queue-store.ts'
import { TOPIC } from './send.ts'
import * as store from './store.ts'

const KEPT_SKIPS_MS = 30 * 86_400_000
/** A new token retries the refusals of this time, in ms. */
const RETRIED_MS = 86_400_000
const DELETED_AT_ONCE = 5000

export const commitStatusJobs = [scheduledJob('commit-statuses.expire', '41 3 * * *', expireReports)]

/** Deletes reports of workspaces without a run, and the log of requests. */
export async function expireReports(ctx: Ctx, signal: AbortSignal) {
  const before = new Date(ctx.now().getTime() - KEPT_SKIPS_MS)
  while (!signal.aborted && (await store.deleteSkipReports(ctx.db, before, DELETED_AT_ONCE)) > 0);
  const loggedBefore = dueBefore(ctx.now(), ctx.config.deliveryRetentionDays)
  if (!loggedBefore) return
  while (!signal.aborted && (await logStore.deleteDeliveries(ctx.db, loggedBefore, DELETED_AT_ONCE)) > 0);
}

export const commitStatusReactions = [
  reaction(commitRunChanged, async (ctx, { run }) => sendSoon(ctx, await store.putRunReport(ctx.db, run, ctx.now()))),
  reaction(deliveryDecided, reportSkipped),
  reaction(planDigested, async (ctx, { runId }) =>
    sendSoon(ctx, await store.touchReport(ctx.db, runId, { now: ctx.now() })),
  ),
  reaction(planReviewed, async (ctx, { runId, pullRequestNumber }) =>
    sendSoon(ctx, await store.touchReport(ctx.db, runId, { pullRequestNumber, now: ctx.now() })),
  ),
  reaction(credentialsChanged, async (ctx, { tokenId }) => {
    await queue.resumeReports(ctx.db, tokenId)
    await store.retryRefused(ctx.db, tokenId, new Date(ctx.now().getTime() - RETRIED_MS))
    sendSoon(ctx, true)
  }),
]

function sendSoon(ctx: TransactionCtx, isDue: boolean) {
  if (isDue) ctx.signals.publish(ctx.db, TOPIC)
}

/** Decisions about workspaces that follow the branch: a required status must not be missing at a commit that does not concern them. */
const REPORTED_REASONS = ['no-matching-files', 'merge-conflict'] as const

async function reportSkipped(
  ctx: TransactionCtx,
  { deliveryId, repositoryId, event }: typeof deliveryDecided.payload & object,
) {
  const isPullRequest = event.kind === 'pull-request'
  const commit = isPullRequest ? event.pullRequest.head : event.commit
  if (!commit) return
  const skipped = {
    deliveryId,
    repositoryId,
    sha: commit.sha,
    kind: isPullRequest ? ('plan' as const) : ('run' as const),
    pullRequestNumber: isPullRequest ? event.pullRequest.number : null,
    reasons: REPORTED_REASONS,
  }
  sendSoon(ctx, await store.putSkipReports(ctx.db, skipped, ctx.now()))
}
