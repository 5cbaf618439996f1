import type { Ctx, TransactionCtx } from '../../../app.ts'
import { audited } from '../../../audit/record.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import type { Page } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { type FailedFilter, deleteFailedJobs, listFailedJobs } from '../../../jobs/queue-state.ts'

export async function listJobs(ctx: Ctx, { kind, page }: { kind: string | undefined; page: Page }) {
  checkSiteAdmin(ctx)
  return listFailedJobs(ctx.db, { kind }, page)
}

/** Runs failed jobs again, with one more attempt each. Returns their number. */
export async function retryJobs(ctx: Ctx, filter: FailedFilter) {
  return change(ctx, 'retry', filter, async (ctx) => ctx.jobs.retry(ctx.db, filter))
}

export async function discardJobs(ctx: Ctx, filter: FailedFilter) {
  return change(ctx, 'discard', filter, async (ctx) => deleteFailedJobs(ctx.db, filter))
}

type Change = (ctx: TransactionCtx) => Promise<readonly { name: string }[]>

async function change(ctx: Ctx, action: 'retry' | 'discard', { id, kind }: FailedFilter, apply: Change) {
  checkSiteAdmin(ctx)
  const event = (jobs: Awaited<ReturnType<Change>>) => ({
    organizationId: undefined,
    action,
    resource: { type: 'job', id: id ?? kind ?? 'all' },
    meta: { kinds: [...new Set(jobs.map(({ name }) => name))], count: jobs.length },
    notices: [],
  })
  const jobs = await audited(ctx, event, async (ctx) => {
    const changed = await apply(ctx)
    if (id !== undefined && changed.length === 0) throw notFound('failed job')
    return changed
  })
  return jobs.length
}
