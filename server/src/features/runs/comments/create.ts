import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { runEventRow } from '../run-events/run-event.ts'
import { runEventsInsert } from '../run-events/store.ts'
import { requireRun } from '../runs/access.ts'
import { requireComment } from './access.ts'
import * as store from './store.ts'

/** Writes a comment on a run for a caller that has been authorised; returns its id. */
export async function insertComment(ctx: TransactionCtx, runId: string, body: string) {
  const id = ctx.newId('wsc')
  const author = actorUserId(ctx.actor)
  await store.insertComment(ctx.db, {
    id,
    run_id: runId,
    body,
    created_by_user_id: author,
    created_at: ctx.now(),
  })
  return id
}

export async function createComment(ctx: Ctx, runId: string, body: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  return transact(ctx, async (ctx) => {
    const id = await insertComment(ctx, run.id, body)
    const event = runEventRow(ctx, run.id, { action: 'commented', commentId: id })
    await runEventsInsert(ctx.db, [event]).execute()
    await recordAudit(ctx, {
      organizationId: run.organization_id,
      action: 'create',
      resource: { type: 'comment', id },
      meta: { run: run.id },
      notices: [{ type: 'runs', id: run.id, workspace: run.workspace_id }],
    })
    return requireComment(ctx, id)
  })
}
