import type { Ctx } from '../../../app.ts'
import { conflict } from '../../../errors.ts'
import { requireTaskStage } from './access.ts'

/**
 * Always throws `conflict`. An override lets a run go on against a verdict that waits for a decision, and no verdict
 * of a run task does: a mandatory task stops the run, an advisory one warns.
 */
export async function overrideTaskStage(ctx: Ctx, id: string): Promise<never> {
  const stage = await requireTaskStage(ctx, id, 'policy-overrides')
  throw conflict(`the task stage is ${stage.status}: only one that is awaiting_override can be overridden`)
}
