import type { Ctx } from '../../../app.ts'
import { notFound } from '../../../errors.ts'
import { requireOutcome, requireTaskResult } from './access.ts'
import * as store from './outcomes-store.ts'

/** The Markdown of one outcome. Throws `not-found` where there is none. */
export async function readOutcomeBody(ctx: Ctx, id: string) {
  const outcome = await requireOutcome(ctx, id)
  const body = await store.findBody(ctx.db, outcome.id)
  if (body === undefined) throw notFound('body of the task result outcome')
  return body
}

/** The bodies of all outcomes of a result, as one Markdown text. Throws `not-found` where there is none. */
export async function readResultBody(ctx: Ctx, resultId: string) {
  const result = await requireTaskResult(ctx, resultId, 'runs:read')
  const outcomes = await store.listOutcomesWithBody(ctx.db, result.id)
  if (outcomes.length === 0) throw notFound('body of the task result')
  return (async function* () {
    for (const { id, description } of outcomes) yield `# ${description}\n\n${await store.findBody(ctx.db, id)}\n\n`
  })()
}
