import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/page.ts'
import { requireTokenPool } from './access.ts'
import { listTokens } from './token-store.ts'

export async function listAgentTokens(ctx: Ctx, poolId: string, page: Page) {
  const pool = await requireTokenPool(ctx, poolId)
  return listTokens(ctx.db, pool.id, page)
}
