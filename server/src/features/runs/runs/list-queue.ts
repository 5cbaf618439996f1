import type { Ctx } from '../../../app.ts'
import { dependsOnGrants, listedAccess, seesEveryWorkspace } from '../../../auth/access-context.ts'
import type { Page } from '../../../db/page.ts'
import type { Query } from '../../../http/query.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import type { Organization } from '../../organizations/organizations/organization.ts'
import { type QUEUE_QUERY, groupStatuses } from './filter.ts'
import * as store from './queue-store.ts'
import { runWithAccess } from './run.ts'

/** A page of the unfinished runs of an organization, or of those in some groups of statuses, in the order of their creation. */
export async function listQueue(
  ctx: Ctx,
  organization: Organization,
  { page, query }: { page: Page; query: Query<typeof QUEUE_QUERY> },
) {
  const list = await store.listQueue(ctx.db, ctx.actor, {
    organizationId: organization.id,
    seesAll: seesEveryWorkspace(organization.access),
    grants: dependsOnGrants(organization.access),
    page,
    statuses: groupStatuses(query['filter[status_group]']),
    now: ctx.now(),
  })
  return {
    rows: list.rows.map(({ position, grants, ...row }) => ({
      position,
      run: runWithAccess(row, listedAccess(organization.access, grants)),
    })),
    total: list.total,
  }
}

/** How many runs of the organization agents work on, how many wait, and the limit of those at work. */
export async function readCapacity(ctx: Ctx, organizationName: string) {
  const organization = await requireOrganization(ctx, organizationName, 'organization:read')
  return { name: organization.name, ...(await store.countQueue(ctx.db, organization.id)) }
}
