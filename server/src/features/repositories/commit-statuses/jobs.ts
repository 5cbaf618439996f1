import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import type { Tx } from '../../../db/db.ts'
import { jobHandler, reaction, scheduledJob } from '../../../handlers.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { commitRunChanged } from '../../runs/runs/audit.ts'
import { credentialsChanged } from '../../vcs/oauth-clients/service.ts'
import { deliveryDecided } from '../deliveries/decide-delivery.ts'
import { planDigested } from '../reviewed-plans/digest.ts'
import { planReviewed } from '../reviewed-plans/review.ts'
import * as queue from './queue-store.ts'
import { sendReports } from './send.ts'
import * as store from './store.ts'

const sendJob = jobKind('commit-statuses.send', z.object({ connectionId: z.string() }), { concurrency: 4 })

/** Delay in ms, since runs often pass through several statuses at once. */
const DEBOUNCE_MS = 1500
const KEPT_SKIPS_MS = 30 * 86_400_000
/** A new token retries the refusals of this time, in ms. */
const RETRIED_MS = 86_400_000
const DELETED_AT_ONCE = 5000

export const commitStatusJobs = [
  jobHandler(sendJob, async (ctx, { connectionId }, signal) => {
    const later = await sendReports(ctx, connectionId, signal)
    if (later) await ctx.jobs.enqueue(ctx.db, sendJob, { connectionId }, { startAfter: later })
  }),
  scheduledJob('commit-statuses.overdue', '* * * * *', sendOverdue),
  scheduledJob('commit-statuses.expire', '41 3 * * *', async (ctx: Ctx, signal) => {
    const before = new Date(ctx.now().getTime() - KEPT_SKIPS_MS)
    while (!signal.aborted && (await store.deleteSkipReports(ctx.db, before, DELETED_AT_ONCE)) > 0);
  }),
]

export const commitStatusReactions = [
  reaction(commitRunChanged, async (ctx, { run }) => sendSoon(ctx, await store.putRunReport(ctx.db, run, ctx.now()))),
  reaction(deliveryDecided, reportSkipped),
  reaction(planDigested, async (ctx, { runId }) => sendSoon(ctx, await store.touchReport(ctx.db, runId, null))),
  reaction(planReviewed, async (ctx, { runId, pullRequestNumber }) =>
    sendSoon(ctx, await store.touchReport(ctx.db, runId, pullRequestNumber)),
  ),
  reaction(credentialsChanged, async (ctx, { tokenId }) => {
    await queue.resumeReports(ctx.db, tokenId)
    await store.retryRefused(ctx.db, tokenId, new Date(ctx.now().getTime() - RETRIED_MS))
    if (await queue.hasDueReports(ctx.db, tokenId)) await sendSoon(ctx, { connection_id: tokenId })
  }),
]

/** Continues with reports whose process was killed, or whose pause has ended. */
export async function sendOverdue(ctx: Ctx) {
  for (const connectionId of await queue.listIdleConnections(ctx.db, ctx.now()))
    await ctx.jobs.enqueue(ctx.db, sendJob, { connectionId })
}

/** The connection that a transaction has enqueued the last job of. */
const enqueued = new WeakMap<Tx, string>()

async function sendSoon(ctx: TransactionCtx, due: { connection_id: string } | undefined) {
  // Runs of a push start in batches.
  if (!due || enqueued.get(ctx.db) === due.connection_id) return
  enqueued.set(ctx.db, due.connection_id)
  const startAfter = new Date(ctx.now().getTime() + DEBOUNCE_MS)
  await ctx.jobs.enqueue(ctx.db, sendJob, { connectionId: due.connection_id }, { startAfter })
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
  await sendSoon(ctx, await store.putSkipReports(ctx.db, skipped, ctx.now()))
}
