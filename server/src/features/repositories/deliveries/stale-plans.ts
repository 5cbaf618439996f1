import type { Ctx, TransactionCtx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import type { HostEvent, PullRequestEvent } from '../../../vcs-hosts/host.ts'
import { cancelForServer } from '../../runs/runs/actions.ts'
import * as store from './store.ts'

/*
 * A delivery about a pull request makes the unfinished plans of its earlier commits stale. Those that the server started are canceled, if
 * the organization has `speculative-plan-management-enabled`. Deliveries may be decided out of order: only plans of earlier ones are stale.
 */

type Happened = {
  delivery: Pick<store.DeliveryRow, 'received_at'>
  event: HostEvent
  repository: { id: string }
}

/**
 * Cancels the older plans of the pull request in the workspace of a new plan, in the transaction that created it; or the new one, if a
 * later delivery was decided first.
 */
export async function cancelOlderPlans(
  ctx: TransactionCtx,
  { delivery, event, repository }: Happened,
  plan: { id: string; workspaceId: string },
) {
  if (event.kind !== 'pull-request') return
  const plans = await listPlans(ctx, { event, repository, workspaceIds: [plan.workspaceId] })
  const others = plans.filter(({ id }) => id !== plan.id)
  const newer = others.find(({ received_at: at }) => at > delivery.received_at)
  if (newer) return cancelForServer(ctx, plan.id, `superseded by ${newer.id}: ${commitOf(event, newer.commit_sha)}`)
  const description = `superseded by ${plan.id}: ${commitOf(event, event.pullRequest.head.sha)}`
  for (const { id } of others) await cancelForServer(ctx, id, description)
}

/** Cancels the plans of the pull request in workspaces where the delivery starts none. */
export async function cancelStalePlans(
  ctx: Ctx,
  { delivery, event, repository }: Happened,
  workspaceIds: readonly string[],
) {
  if (event.kind !== 'pull-request' || workspaceIds.length === 0) return
  const plans = await listPlans(ctx, { event, repository, workspaceIds })
  const stale = plans.filter(({ received_at: at }) => at < delivery.received_at)
  const { action, pullRequest } = event
  const description =
    action === 'closed' || action === 'merged'
      ? `the pull request #${pullRequest.number} was ${action}`
      : `superseded by ${commitOf(event, pullRequest.head.sha)}, which is not planned here`
  for (const { id } of stale) await transact(ctx, async (ctx) => cancelForServer(ctx, id, description))
}

type Plans = { event: PullRequestEvent; repository: { id: string }; workspaceIds: readonly string[] }

async function listPlans(ctx: Ctx, { event, repository, workspaceIds }: Plans) {
  const { number } = event.pullRequest
  return store.listUnfinishedPlans(ctx.db, { repositoryId: repository.id, number, workspaceIds })
}

function commitOf({ pullRequest }: PullRequestEvent, sha: string) {
  return `commit ${sha.slice(0, 7)} of the pull request #${pullRequest.number}`
}
