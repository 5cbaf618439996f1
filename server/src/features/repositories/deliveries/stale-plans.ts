import type { Ctx, TransactionCtx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { cancelForServer } from '../../runs/runs/actions.ts'
import * as store from './store.ts'

/*
 * A delivery about a pull request makes the unfinished plans of its earlier commits stale. Those that the server started are canceled, if
 * the organization has `speculative-plan-management-enabled`. Deliveries about a pull request are decided in order; a replay is an old
 * one, which makes nothing stale.
 */

type Happened = {
  delivery: Pick<store.DeliveryRow, 'source'>
  event: HostEvent
  repository: { id: string }
}

type Superseding = { workspaceIds: readonly string[]; newPlans: ReadonlyMap<string, string> }

/** Cancels the plans of other commits of the pull request in workspaces, in the transaction that creates new ones in some of them. */
export async function cancelOlderPlans(
  ctx: TransactionCtx,
  happened: Happened,
  { workspaceIds, newPlans }: Superseding,
) {
  const { event } = happened
  const sha = event.kind === 'pull-request' ? event.pullRequest.head.sha : null
  for (const plan of await listPlans(ctx, happened, { workspaceIds, exceptSha: sha })) {
    const newPlan = newPlans.get(plan.workspace_id)
    const by = newPlan === undefined ? commitOf(event) : `${newPlan}: ${commitOf(event)}`
    await cancel(ctx, plan.id, `superseded by ${by}`)
  }
}

/** Cancels the plans of the pull request in workspaces where the delivery starts none. */
export async function cancelStalePlans(ctx: Ctx, happened: Happened, workspaceIds: readonly string[]) {
  const { event } = happened
  const plans = await listPlans(ctx, happened, { workspaceIds, exceptSha: null })
  const isOver = event.kind === 'pull-request' && (event.action === 'closed' || event.action === 'merged')
  const description = isOver
    ? `the pull request #${event.pullRequest.number} was ${event.action}`
    : `superseded by ${commitOf(event)}, which is not planned here`
  for (const { id } of plans) await transact(ctx, async (ctx) => cancel(ctx, id, description))
}

async function cancel(ctx: TransactionCtx, planId: string, description: string) {
  await cancelForServer(ctx, planId, description)
  // The pull request may be opened again, or set back to the commit.
  await store.releaseCommit(ctx.db, planId)
}

type Plans = { workspaceIds: readonly string[]; exceptSha: string | null }

async function listPlans(ctx: Ctx, { delivery, event, repository }: Happened, { workspaceIds, exceptSha }: Plans) {
  if (event.kind !== 'pull-request' || delivery.source === 'replay' || workspaceIds.length === 0) return []
  const { number } = event.pullRequest
  return store.listUnfinishedPlans(ctx.db, { repositoryId: repository.id, number, workspaceIds, exceptSha })
}

function commitOf(event: HostEvent) {
  if (event.kind !== 'pull-request') return ''
  const { number, head } = event.pullRequest
  return `commit ${head.sha.slice(0, 7)} of the pull request #${number}`
}
