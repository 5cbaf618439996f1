import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { canReadRuns, readAccess } from '../../../auth/workspace-access.ts'
import { type Page, transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { requireRun } from '../runs/access.ts'
import { insertComment } from '../runs/actions.ts'
import { runEventRow, runEventsInsert } from '../runs/run-event-store.ts'
import * as store from './store.ts'

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

/** A page of the comments on a run, which the caller has authorised. */
export async function listComments(ctx: Ctx, runId: string, page: Page) {
  return store.listComments(ctx.db, { runId, page })
}

/** The comments whose run the actor may read. */
export async function listReadableComments(ctx: Ctx, ids: readonly string[]) {
  const rows = await store.findComments(ctx.db, ctx.actor, ids)
  return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row)))
}

export async function requireComment(ctx: Ctx, id: string) {
  const row = await store.findComment(ctx.db, id)
  if (!row) throw notFound('comment')
  await requireRun(ctx, row.run_id, 'runs:read', { noun: 'comment' })
  return row
}
