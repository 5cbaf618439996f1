import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { transact } from '../../../db/db.ts'
import { conflict } from '../../../errors.ts'
import { updateTask } from '../../tasks/run-tasks/update.ts'
import { requireSampleMaker } from './access.ts'
import { sampleAudit } from './audit.ts'
import { ensureParts } from './ensure-parts.ts'
import { isFormerReceiver, sampleReceiver } from './receiver.ts'
import { showSample } from './show.ts'
import * as store from './store.ts'

/**
 * Makes the sample of an organization, or what is missing of it. Its configurations follow in the background, and with them the first
 * run.
 */
export async function createSample(ctx: Ctx, organizationName: string) {
  const isNew = await transact(ctx, async (ctx) => {
    const organization = await requireSampleMaker(ctx, organizationName)
    const inserted = await store.insertSample(ctx.db, {
      id: ctx.newId('sample'),
      organization_id: organization.id,
      created_by_user_id: ctx.actor.kind === 'user' ? ctx.actor.userId : null,
      created_at: ctx.now(),
    })
    const sample = inserted ?? (await store.lockSample(ctx.db, organization.id))
    if (!sample) throw conflict('the sample is just being removed: make it again in a moment')
    const isChanged = await ensureParts(ctx, organization, sample)
    if (inserted || isChanged) await recordAudit(ctx, sampleAudit(sample, inserted ? 'create' : 'update'))
    return inserted !== undefined
  })
  const shown = await showSample(ctx, organizationName)
  if (!(await moveTask(ctx, shown))) return { isNew, sample: shown }
  return { isNew, sample: await showSample(ctx, organizationName) }
}

/** The server may have got another address since the task was made. Returns whether the task was changed. */
async function moveTask(ctx: Ctx, { row, contents: { task } }: Awaited<ReturnType<typeof showSample>>) {
  const { url } = sampleReceiver(ctx, row.id)
  if (!task || !isFormerReceiver(task.url, url)) return false
  await updateTask(ctx, task.id, { type: 'tasks', attributes: { url }, relationships: {} })
  return true
}
