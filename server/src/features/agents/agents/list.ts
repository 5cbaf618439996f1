import type { Ctx } from '../../../app.ts'
import type { Page, Paged } from '../../../db/page.ts'
import { requireAgentPool } from '../agent-pools/access.ts'
import * as store from './store.ts'

export async function listAgents(
  ctx: Ctx,
  poolId: string,
  input: { page: Page; since: Date | undefined; sort: store.AgentSort },
): Promise<Paged<store.AgentRow>> {
  const pool = await requireAgentPool(ctx, poolId, 'agent-pools:read')
  return store.listAgents(ctx.db, { poolId: pool.id, now: ctx.now(), ...input })
}
