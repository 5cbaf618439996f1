import type { Ctx } from '../../app.ts'
import type { Tx } from '../../db/db.ts'
import type { Stage, StageStatus } from './machine.ts'

/**
 * What the run machine asks of run tasks, and all that it knows of them. Every function works in the transaction that
 * moves the run, and holds its workspace. No feature answers yet: a run has no stages.
 */
type RunIdentity = { id: string; workspace_id: string; organization_id: string; configuration_version_id: string }
type Tctx = Ctx & { db: Tx }

/** The stages that a new run of the workspace has, to be made once the run's row is there. */
export async function plannedStages(_ctx: Tctx, _workspace: { id: string; organization_id: string }): Promise<Stage[]> {
  return []
}

/** Makes the stages of a new run, with their results, as pending. */
export async function createStages(_ctx: Tctx, _run: RunIdentity, _stages: readonly Stage[]) {}

/** Where the run's stages are. Asked only for a run that has some. */
export async function stageStatuses(_ctx: Tctx, _runId: string): Promise<Partial<Record<Stage, StageStatus>>> {
  return {}
}

/** The run has reached a stage: its tasks go out. When the last verdict is in, the feature calls `advanceRun`. */
export async function startStage(_ctx: Tctx, _run: RunIdentity, _stage: Stage) {}

/** The run has ended: what has not come back no longer matters. */
export async function cancelStages(_ctx: Tctx, _runId: string) {}
