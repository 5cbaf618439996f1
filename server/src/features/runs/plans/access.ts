import type { Ctx } from '../../../app.ts'
import { canReadRuns, readAccess } from '../../../auth/workspace-access.ts'
import { notFound } from '../../../errors.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

type PhaseKind = { kind: 'plan' | 'apply'; forTask?: boolean }

/** The plan or apply, if the actor may read its run. `forTask` as in `requireRun`. */
export async function requirePhase(ctx: Ctx, id: string, { kind, forTask = false }: PhaseKind) {
  const phase = await store.findPhase(ctx.db, id)
  if (phase?.kind !== kind) throw notFound(kind)
  const run = await requireRun(ctx, phase.run_id, 'runs:read', { forTask, noun: kind })
  return { phase, run }
}

export async function listReadablePhases(ctx: Ctx, ids: readonly string[]): Promise<store.Phase[]> {
  if (ids.length === 0) return []
  const rows = await store.findPhases(ctx.db, ctx.actor, ids)
  return rows.filter((row) => canReadRuns(readAccess(ctx.actor, row)))
}

/** The plan or apply of a run that the actor may read. */
export async function requireRunPhase(ctx: Ctx, runId: string, kind: 'plan' | 'apply'): Promise<store.Phase> {
  const run = await requireRun(ctx, runId, 'runs:read')
  const phase = await store.findPhase(ctx.db, run[`${kind}_id`])
  if (!phase) throw notFound('run')
  return phase
}
