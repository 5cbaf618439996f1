import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import type { OrganizationPermission } from '../../../auth/permissions.ts'
import type { Page } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { scheduledJob } from '../../../handlers.ts'
import { dueBefore, expireInBatches } from '../../../jobs/expire.ts'
import {
  listReadableOrganizations,
  requireOrganization,
  requirePart,
} from '../../organizations/organizations/access.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'
import { insertEvents } from './receive.ts'
import * as store from './store.ts'

/** Those who do not manage connections see the deliveries of repositories that workspaces visible to them use. */
export async function listDeliveries(
  ctx: Ctx,
  organizationName: string,
  { filter, page }: { filter: store.DeliveryFilter; page: Page },
) {
  const { id: organizationId, can } = await requireOrganization(ctx, organizationName, 'vcs-settings:read')
  const seenBy = can.has('vcs-settings:manage') ? undefined : ctx.actor
  return store.listDeliveries(ctx.db, { organizationId, seenBy, filter, page })
}

const readPermission = (delivery: { is_visible: boolean } | undefined) =>
  delivery?.is_visible === true ? 'vcs-settings:read' : 'vcs-settings:manage'

export async function requireDelivery(ctx: Ctx, id: string, permission: OrganizationPermission) {
  const [delivery] = await store.findDeliveries(ctx.db, ctx.actor, [id])
  return requirePart(ctx, delivery, { noun: 'delivery', read: readPermission(delivery), permission })
}

/** The deliveries that the actor may see, for includes. */
export async function listReadableDeliveries(ctx: Ctx, ids: readonly string[]) {
  const deliveries = await store.findDeliveries(ctx.db, ctx.actor, ids)
  const organizations = await listReadableOrganizations(ctx, [...new Set(deliveries.map((row) => row.organization_id))])
  const permissions = new Map(organizations.map(({ id, can }) => [id, can]))
  return deliveries.filter((row) => permissions.get(row.organization_id)?.has(readPermission(row)))
}

export async function listDecisions(ctx: Ctx, deliveryId: string, page: Page) {
  const { id } = await requireDelivery(ctx, deliveryId, 'vcs-settings:read')
  return store.listDecisions(ctx.db, ctx.actor, { deliveryId: id, page })
}

export async function listWorkspaceDecisions(ctx: Ctx, workspaceId: string, page: Page) {
  const { id } = await requireWorkspace(ctx, workspaceId, 'runs:read')
  return store.listWorkspaceDecisions(ctx.db, { workspaceId: id, page })
}

/**
 * Stores the event again as a new delivery, so that both decisions stay in the log. Workspaces that have a run for the commit skip it.
 * Throws `conflict` for a delivery without an event.
 */
export async function replayDelivery(ctx: Ctx, id: string) {
  const delivery = await requireDelivery(ctx, id, 'vcs-settings:manage')
  const {
    event,
    repository_id: repositoryId,
    repository_identifier: identifier,
    organization_id: organizationId,
  } = delivery
  if (!event || repositoryId === null)
    throw conflict(`the delivery ${id} cannot be replayed: ${delivery.message ?? 'its repository is gone'}`)
  const audit = { organizationId, action: 'replay', resource: { type: 'vcs_delivery', id }, meta: {}, notices: [] }
  await audited(ctx, audit, (ctx) =>
    insertEvents(ctx, {
      repository: { id: repositoryId, organization_id: organizationId, identifier },
      key: `replay of ${id} at ${ctx.now().toISOString()}`,
      source: 'replay',
      events: [event],
    }),
  )
}

const EXPIRY_BATCH = 200

/** Deletes old deliveries with their decisions. Pending ones are kept. */
export async function expireVcsDeliveries(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), ctx.config.deliveryRetentionDays)
  if (!before) return
  await expireInBatches<true>(ctx, 'deliveries', {
    signal,
    batch: async () => {
      const deleted = await store.deleteDeliveries(ctx.db, { before, limit: EXPIRY_BATCH })
      return { deleted, next: deleted < EXPIRY_BATCH ? undefined : true }
    },
  })
}

/** Commits without a configuration are kept for this long, since a delivery stores its commit before the configurations. */
const UNUSED_DAYS = 7

/** Deletes the commits, with their messages and pull requests, of workspaces that were deleted. */
export async function expireCommits(ctx: Ctx, signal: AbortSignal) {
  const before = dueBefore(ctx.now(), UNUSED_DAYS) ?? ctx.now()
  await expireInBatches<true>(ctx, 'commits', {
    signal,
    batch: async () => {
      const deleted = await store.deleteUnusedCommits(ctx.db, { before, limit: EXPIRY_BATCH })
      return { deleted, next: deleted < EXPIRY_BATCH ? undefined : true }
    },
  })
}

export const vcsDeliveryExpiryJobs = [
  scheduledJob('vcs-deliveries.expire', '47 4 * * *', expireVcsDeliveries),
  scheduledJob('vcs-commits.expire', '57 4 * * *', expireCommits),
]
