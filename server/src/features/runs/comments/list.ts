import type { Ctx } from '../../../app.ts'
import type { Page } from '../../../db/page.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

/** A page of the comments on a run, the oldest first. */
export async function listComments(ctx: Ctx, runId: string, page: Page) {
  const run = await requireRun(ctx, runId, 'runs:read')
  return store.listComments(ctx.db, { runId: run.id, page })
}
