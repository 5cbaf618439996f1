import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { type Db, transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { requireTaskResult } from './access.ts'
import { requeueDelivery } from './deliveries-store.ts'
import { findStatus } from './store.ts'
import { TOPIC } from './topic.ts'

/**
 * Sends the request of an open result once more, now. Throws `conflict` when the result has ended, when its request
 * is on its way, or when its task is deleted: the URL is deleted with it.
 */
export async function redeliver(ctx: Ctx, resultId: string) {
  const result = await requireTaskResult(ctx, resultId, 'runs:apply')
  await transact(ctx, async (ctx) => {
    if (!(await requeueDelivery(ctx.db, result.id, ctx.now()))) throw conflict(await refusal(ctx.db, result))
    ctx.signals.publish(ctx.db, TOPIC)
    await recordAudit(ctx, {
      organizationId: result.organization_id,
      action: 'redeliver',
      resource: { type: 'task_result', id: result.id },
      meta: { run: result.run_id },
      notices: [{ type: 'task-results', id: result.id, workspace: result.workspace_id, run: result.run_id }],
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
  return 'the request is on its way: wait for its response'
}
