import type { Ctx } from '../../../app.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

/** What has happened to a run, the oldest event first. The list has no pages: clients read all of it once. */
export async function listRunEvents(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  return store.listRunEvents(ctx.db, run.id)
}
