import type { Ctx } from '../../../app.ts'
import { type Db, transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import * as store from './deliveries-store.ts'
import { requireTaskResult, TOPIC } from './service.ts'
import { findStatus } from './store.ts'
import { recordAudit } from '../../../audit/record.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

/** What was sent for a result and what came back, the last attempt first. */
export async function listDeliveries(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  return store.listDeliveries(ctx.db, result.id, { limit: page.size, offset: pageOffset(page) })
}

/**
 * Sends the request of an open result once more, now. Throws `conflict` when it has ended, is on its way, or has lost its
 * task, without which nobody knows where to send it.
 */
export async function redeliver(ctx: Ctx, resultId: string) {
  const result = await requireTaskResult(ctx, resultId, 'runs:apply')
  await transact(ctx, async (ctx) => {
    if (!(await store.requeueDelivery(ctx.db, result.id, ctx.now()))) throw conflict(await refusal(ctx.db, result))
    await ctx.signals.publish(ctx.db, TOPIC)
    await recordAudit(ctx, {
      organizationId: result.organization_id,
      action: 'redeliver',
      resource: { type: 'task_result', id: result.id },
      meta: { run: result.run_id },
    })
  })
  return requireTaskResult(ctx, resultId, 'runs:read')
}

async function refusal(db: Db, { id, task_name }: { id: string; task_name: string }) {
  const row = await findStatus(db, id)
  if (row?.status !== 'running')
    return `the task result is ${row?.status ?? 'gone'}: only one that is running can be delivered again`
  if (!row.has_task)
    return `the task ${task_name} was deleted: its request can not be sent again, but its callback still counts`
  return 'the request is on its way: wait for its answer'
}
