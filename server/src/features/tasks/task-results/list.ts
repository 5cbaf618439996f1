import type { Ctx } from '../../../app.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { isWithheld } from '../run-tasks/withheld.ts'
import { requireTaskResult } from './access.ts'
import * as deliveriesStore from './deliveries-store.ts'
import * as outcomesStore from './outcomes-store.ts'

/** The attempts to deliver a result's request, the last one first; `isHidden` when the actor may not read the answers. */
export async function listDeliveries(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const { rows, total } = await deliveriesStore.listDeliveries(ctx.db, result.id, {
    limit: page.size,
    offset: pageOffset(page),
  })
  return { rows: rows.map((row) => ({ ...row, isHidden: isWithheld(ctx, { isPrivate: row.is_private }) })), total }
}

export async function listOutcomes(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const rows = await outcomesStore.listOutcomes(ctx.db, result.id, { limit: page.size, offset: pageOffset(page) })
  return { rows, total: result.outcomes_count }
}
