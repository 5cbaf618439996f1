import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireOrganization } from '../../organizations/organizations/access.ts'
import { onlineSince } from '../agents/status.ts'
import * as store from './store.ts'

export async function listAgentPools(
  ctx: Ctx,
  organizationName: string,
  { page, filter }: { page: Page; filter: store.PoolFilter },
): Promise<Paged<store.AgentPoolRow>> {
  const organization = await requireOrganization(ctx, organizationName, 'agent-pools:read')
  return store.listAgentPools(ctx.db, ctx.actor, {
    organizationId: organization.id,
    page,
    since: onlineSince(ctx.now()),
    filter,
  })
}
