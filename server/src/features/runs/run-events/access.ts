import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

export async function requireRunEvent(ctx: Ctx, id: string): Promise<store.RunEventRow> {
  const row = await store.findRunEvent(ctx.db, id)
  if (!row) throw notFound('run event')
  await requireRun(ctx, row.run_id, 'runs:read', { noun: 'run event' })
  return row
}
