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

/** Cancels the older plans of the pull request in workspaces with a new one, in the transaction that creates it. */
export async function cancelOlderPlans(ctx: TransactionCtx, happened: Happened, newPlans: ReadonlyMap<string, string>) {
  for (const { id, workspace_id: workspaceId } of await listPlans(ctx, happened, [...newPlans.keys()])) {
    const newPlan = newPlans.get(workspaceId)
    if (id !== newPlan) await cancelForServer(ctx, id, `superseded by ${newPlan}: ${commitOf(happened.event)}`)
  }
}

/** Cancels the plans of the pull request in workspaces where the delivery starts none. */
export async function cancelStalePlans(ctx: Ctx, happened: Happened, workspaceIds: readonly string[]) {
  const { event } = happened
  const plans = await listPlans(ctx, happened, workspaceIds)
  const isOver = event.kind === 'pull-request' && (event.action === 'closed' || event.action === 'merged')
  const description = isOver
    ? `the pull request #${event.pullRequest.number} was ${event.action}`
    : `superseded by ${commitOf(event)}, which is not planned here`
  for (const { id } of plans)
    await transact(ctx, async (ctx) => {
      await cancelForServer(ctx, id, description)
      // The pull request may be opened again.
      if (isOver) await store.releaseCommit(ctx.db, id)
    })
}

async function listPlans(ctx: Ctx, { delivery, event, repository }: Happened, workspaceIds: readonly string[]) {
  if (event.kind !== 'pull-request' || delivery.source === 'replay' || workspaceIds.length === 0) return []
  const { number } = event.pullRequest
  return store.listUnfinishedPlans(ctx.db, { repositoryId: repository.id, number, workspaceIds })
}

function commitOf(event: HostEvent) {
  if (event.kind !== 'pull-request') return ''
  const { number, head } = event.pullRequest
  return `commit ${head.sha.slice(0, 7)} of the pull request #${number}`
}
