import type { Insertable } from 'kysely'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { transact } from '../../../db/db.ts'
import type { Schema } from '../../../db/schema.gen.ts'
import type { HostEvent } from '../../../vcs-hosts/host.ts'
import { cancelForServer } from '../../runs/runs/actions.ts'
import * as store from './store.ts'

/*
 * A delivery about a pull request makes the unfinished plans of its earlier commits stale. Those that the server started are canceled, if
 * the organization has `speculative-plan-management-enabled`. Deliveries about a pull request are decided in order; a replay is an old
 * one, which makes nothing stale.
 */

type Delivery = Pick<store.DeliveryRow, 'source' | 'repository_id'>
type Plan = { id: string; workspaceId: string; commit: Insertable<Schema['ingress_attributes']> }

/** Cancels the older plans of the pull request in the workspace of a new plan, in the transaction that creates it. */
export async function cancelOlderPlans(ctx: TransactionCtx, delivery: Delivery, { id, workspaceId, commit }: Plan) {
  const { pull_request_number: number, commit_sha: sha } = commit
  if (typeof number !== 'number') return
  const plans = await listPlans(ctx, delivery, { number, workspaceIds: [workspaceId] })
  const description = `superseded by ${id}: ${commitOf(number, sha)}`
  for (const plan of plans) if (plan.id !== id) await cancelForServer(ctx, plan.id, description)
}

/** Cancels the plans of the pull request in workspaces where the delivery starts none. */
export async function cancelStalePlans(
  ctx: Ctx,
  delivery: Delivery,
  { event, workspaceIds }: { event: HostEvent; workspaceIds: readonly string[] },
) {
  if (event.kind !== 'pull-request' || workspaceIds.length === 0) return
  const { number, head } = event.pullRequest
  const isOver = event.action === 'closed' || event.action === 'merged'
  const description = isOver
    ? `the pull request #${number} was ${event.action}`
    : `superseded by ${commitOf(number, head.sha)}, which is not planned here`
  for (const { id } of await listPlans(ctx, delivery, { number, workspaceIds }))
    await transact(ctx, async (ctx) => cancelForServer(ctx, id, description))
}

type PullRequestKey = { number: number; workspaceIds: readonly string[] }

async function listPlans(ctx: Ctx, { source, repository_id: repositoryId }: Delivery, key: PullRequestKey) {
  return source === 'replay' || repositoryId === null ? [] : store.listUnfinishedPlans(ctx.db, { repositoryId, ...key })
}

function commitOf(number: number, sha: string) {
  return `commit ${sha.slice(0, 7)} of the pull request #${number}`
}
