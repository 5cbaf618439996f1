import type { Ctx } from '../../../app.ts'
import { canReadRuns, readAccess } from '../../../auth/workspace-access.ts'
import { notFound } from '../../../errors.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

export async function requireComment(ctx: Ctx, id: string): Promise<store.CommentRow> {
  const row = await store.findComment(ctx.db, id)
  if (!row) throw notFound('comment')
  await requireRun(ctx, row.run_id, 'runs:read', { noun: 'comment' })
  return row
}

/** Those of the comments whose run the actor may read. */
export async function listReadableComments(ctx: Ctx, ids: readonly string[]): Promise<store.CommentRow[]> {
  const rows = await store.findComments(ctx.db, ctx.actor, ids)
  return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row)))
}
