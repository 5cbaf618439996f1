import type { Ctx } from '../../../app.ts'
import { checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { notFound } from '../../../errors.ts'
import * as store from './outcomes-store.ts'
import { requireTaskResult } from './service.ts'
import { type Page, pageOffset } from '../../../db/page.ts'

export async function listOutcomes(ctx: Ctx, resultId: string, page: Page) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const rows = await store.listOutcomes(ctx.db, result.id, { limit: page.size, offset: pageOffset(page) })
  return { rows, total: result.outcomes_count }
}

/** Throws `not-found` for an outcome of a run that the actor may not read. */
export async function requireOutcome(ctx: Ctx, id: string): Promise<store.TaskOutcomeRow> {
  const row = await store.findOutcome(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task result outcome')
  const { facts: _, ...outcome } = row
  checkAccess(readAccess(ctx.actor, row), {
    noun: 'task result outcome',
    permission: 'runs:read',
    workspaceName: row.workspace_name,
  })
  return outcome
}

/** The Markdown of one outcome. Throws `not-found` where there is none. */
export async function readOutcomeBody(ctx: Ctx, id: string) {
  const outcome = await requireOutcome(ctx, id)
  const body = await store.findBody(ctx.db, outcome.id)
  if (body === undefined) throw notFound('body of the task result outcome')
  return body
}

/** Everything that a receiver has written about a run, as one Markdown text. Throws `not-found` where there is none. */
export async function openResultBody(ctx: Ctx, resultId: string) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const outcomes = await store.listOutcomesWithBody(ctx.db, result.id)
  if (outcomes.length === 0) throw notFound('body of the task result')
  return (async function* () {
    for (const { id, description } of outcomes) yield `# ${description}\n\n${await store.findBody(ctx.db, id)}\n\n`
  })()
}
