import type { Ctx, TransactionCtx } from '../../../app.ts'
import { actorUserId } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { requireRun } from './service.ts'
import { insertEvents } from './transitions.ts'
import { recordAudit } from '../../../audit/record.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

/** Writes a comment on a run for a caller that has been authorised; returns its id. */
export async function insertComment(ctx: TransactionCtx, runId: string, body: string) {
  const id = ctx.newId('wsc')
  const row = { id, run_id: runId, body, created_by_user_id: actorUserId(ctx.actor), created_at: ctx.now() }
  await ctx.db.insertInto('comments').values(row).execute()
  return id
}

export async function createComment(ctx: Ctx, runId: string, body: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  return transact(ctx, async (ctx) => {
    const id = await insertComment(ctx, run.id, body)
    await insertEvents(ctx, run.id, [{ action: 'commented', commentId: id }]).execute()
    await recordAudit(ctx, {
      organizationId: run.organization_id,
      action: 'create',
      resource: { type: 'comment', id },
      meta: { run: run.id },
    })
    return requireComment(ctx, id)
  })
}

export async function requireComment(ctx: Ctx, id: string) {
  const row = await ctx.db
    .selectFrom('comments as c')
    .leftJoin('run_events as e', 'e.comment_id', 'c.id')
    .selectAll('c')
    .select('e.id as run_event_id')
    .where('c.id', '=', id)
    .executeTakeFirst()
  if (!row) throw notFound('comment')
  await requireRun(ctx, row.run_id, 'runs:read', { noun: 'comment' })
  return row
}

export async function listComments(ctx: Ctx, runId: string, page: Page) {
  const run = await requireRun(ctx, runId, 'runs:read')
  const query = ctx.db.selectFrom('comments as c').where('c.run_id', '=', run.id)
  const rows = await query
    .leftJoin('run_events as e', 'e.comment_id', 'c.id')
    .selectAll('c')
    .select('e.id as run_event_id')
    .orderBy('c.seq')
    .limit(page.size)
    .offset(pageOffset(page))
    .execute()
  const count = await query.select((eb) => eb.fn.countAll<number>().as('total')).executeTakeFirstOrThrow()
  return { rows, total: count.total }
}
export type Comment = Awaited<ReturnType<typeof requireComment>>

/** What has happened to a run, the first first. Clients read all of it once. */
export async function listRunEvents(ctx: Ctx, runId: string) {
  const run = await requireRun(ctx, runId, 'runs:read')
  return ctx.db.selectFrom('run_events').selectAll().where('run_id', '=', run.id).orderBy('seq').execute()
}

export async function requireRunEvent(ctx: Ctx, id: string) {
  const row = await ctx.db.selectFrom('run_events').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row) throw notFound('run event')
  await requireRun(ctx, row.run_id, 'runs:read', { noun: 'run event' })
  return row
}
export type RunEvent = Awaited<ReturnType<typeof requireRunEvent>>

export async function findComments(ctx: Ctx, ids: readonly string[]) {
  if (ids.length === 0) return []
  return ctx.db
    .selectFrom('comments as c')
    .leftJoin('run_events as e', 'e.comment_id', 'c.id')
    .selectAll('c')
    .select('e.id as run_event_id')
    .where((eb) => eb('c.id', '=', eb.fn.any(eb.val([...ids]))))
    .execute()
}
