import type { Ctx } from '../../../app.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './chain-store.ts'
import type { TriggerChain } from './chain.ts'

/** The most runs and firings of a chain that are shown. */
const MAX_RUNS = 1000
const MAX_FIRINGS = 3000

/** Reads the causes and the consequences of a run that the actor may read. */
export async function readTriggerChain(ctx: Ctx, id: string): Promise<TriggerChain> {
  const { id: runId } = await requireRun(ctx, id, 'runs:read')
  const foundCauses = await store.listCauseIds(ctx.db, runId, MAX_RUNS + 1)
  const causes = foundCauses.slice(0, MAX_RUNS)
  // The run itself is on both sides.
  const room = MAX_RUNS - causes.length + 1
  const foundConsequences = await store.listConsequenceIds(ctx.db, runId, room + 1)
  const consequences = foundConsequences.slice(0, room)
  const [runs, firings] = await Promise.all([
    store.listChainRuns(ctx.db, ctx.actor, [...causes, ...consequences]),
    store.listChainFirings(ctx.db, ctx.actor, { causes, consequences, limit: MAX_FIRINGS + 1 }),
  ])
  const isWhole = foundCauses.length <= MAX_RUNS && foundConsequences.length <= room && firings.length <= MAX_FIRINGS
  return { runId, runs, firings: firings.slice(0, MAX_FIRINGS), truncated: !isWhole }
}
