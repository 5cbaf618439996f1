import type { Ctx } from '../../../app.ts'
import { requireTaskStage } from './access.ts'
import { reportVerdict } from './report-verdict.ts'
import type { TaskStage } from './task-stage.ts'

/** Loads a stage for a reader. A deferred verdict is reported to the run now: its reader has seen the stage. */
export async function showTaskStage(ctx: Ctx, id: string): Promise<TaskStage> {
  const stage = await requireTaskStage(ctx, id, 'runs:read')
  if (stage.held_until !== null) await reportVerdict(ctx, stage.id)
  return stage
}
