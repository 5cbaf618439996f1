import type { Ctx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { notFound } from '../../../errors.ts'
import { requireRunTriggerToDelete } from './access.ts'
import { runTriggerAudit } from './audit.ts'
import * as store from './store.ts'

/** Deletes a run trigger. What it has fired before still starts its run. */
export async function deleteRunTrigger(ctx: Ctx, id: string) {
  const trigger = await requireRunTriggerToDelete(ctx, id)
  await audited(ctx, runTriggerAudit(trigger, 'destroy'), async (ctx) => {
    if (!(await store.deleteRunTrigger(ctx.db, id))) throw notFound('run trigger')
  })
}
