import type { Ctx } from '../../app.ts'
import { transact } from '../../db/db.ts'
import { conflict } from '../../errors.ts'
import { type Page, pageOffset } from '../../http/pagination.ts'
import { recordAudit } from '../audit-trail/service.ts'
import * as store from './deliveries-store.ts'
import { requireTaskResult, TOPIC } from './service.ts'

/** What was sent for a result and what came back, the last attempt first. */
export async function listDeliveries(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  return store.listDeliveries(ctx.db, result.id, { limit: page.size, offset: pageOffset(page) })
}

/** Sends the request of an open result once more, now. Throws `conflict` when it has ended or is on its way. */
export async function redeliver(ctx: Ctx, resultId: string) {
  const result = await requireTaskResult(ctx, resultId, 'runs:apply')
  await transact(ctx, async (ctx) => {
    if (!(await store.requeueDelivery(ctx.db, result.id, ctx.now()))) {
      throw conflict(
        result.status === 'running'
          ? 'the request is on its way: wait for its answer'
          : `the task result is ${result.status}: only one that is running can be delivered again`,
      )
    }
    await ctx.signals.send(ctx.db, TOPIC)
    await recordAudit(ctx, {
      organizationId: result.organization_id,
      action: 'redeliver',
      resource: { type: 'task_result', id: result.id },
      meta: { run: result.run_id },
    })
  })
  return requireTaskResult(ctx, resultId, 'runs:read')
}
