import type { Ctx } from '../../../app.ts'
import { type Page, pageOffset } from '../../../db/page.ts'
import { isWithheld } from '../run-tasks/withheld.ts'
import { requireTaskResult } from './access.ts'
import * as deliveriesStore from './deliveries-store.ts'
import * as outcomesStore from './outcomes-store.ts'

/** The attempts to deliver a result's request, the last one first; `isHidden` when the actor may not read the responses. */
export async function listDeliveries(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const { rows, total } = await deliveriesStore.listDeliveries(ctx.db, result.id, {
    limit: page.size,
    offset: pageOffset(page),
  })
  return { rows: rows.map((row) => ({ ...row, isHidden: isWithheld(ctx, { isPrivate: row.is_private }) })), total }
}

/** How much of a result comes along where it is included; a list has all. */
const MOST_INCLUDED = { outcomes: 100, deliveries: 10 } as const

/** The last attempts of several results, that the actor may read, the last one of each first. */
export async function listDeliveriesOf(ctx: Ctx, resultIds: readonly string[]) {
  const rows = await deliveriesStore.listDeliveriesOf(ctx.db, resultIds, MOST_INCLUDED.deliveries)
  return rows.map((row) => ({ ...row, isHidden: isWithheld(ctx, { isPrivate: row.is_private }) }))
}

/** The first outcomes of several results that the actor may read. */
export async function listOutcomesOf(ctx: Ctx, resultIds: readonly string[]) {
  return outcomesStore.listOutcomesOf(ctx.db, resultIds, MOST_INCLUDED.outcomes)
}

export async function listOutcomes(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const rows = await outcomesStore.listOutcomes(ctx.db, result.id, { limit: page.size, offset: pageOffset(page) })
  return { rows, total: result.outcomes_count }
}
