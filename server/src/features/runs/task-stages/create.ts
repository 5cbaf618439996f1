import { type Stage, STAGES } from '@groundstate/contract/run-tasks'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type EffectiveTask, listEffectiveTasks, readEffectiveTasks } from '../../tasks/run-tasks/list.ts'
import { createResults } from '../../tasks/task-results/create.ts'
import * as store from './store.ts'

/**
 * The stages that a new run of the workspace has: those at which an enabled task is to be asked. They are read with the next statement of
 * the transaction, after which what is returned may be called.
 */
export async function readPlannedStages(
  ctx: Pick<Ctx, 'db'>,
  workspace: { id: string; organization_id: string },
): Promise<() => Promise<Stage[]>> {
  const read = await readEffectiveTasks(ctx, workspace)
  return async () => stagesOf(await read())
}

function stagesOf(tasks: readonly EffectiveTask[]) {
  return STAGES.filter((name) => tasks.some((task) => task.stages.some(({ stage }) => stage === name)))
}

/** Creates the stages of a new run and their results, as pending. */
export async function createStages(
  ctx: TransactionCtx,
  run: { id: string; workspace_id: string; organization_id: string },
  stages: readonly Stage[],
) {
  const now = ctx.now()
  const rows = stages.map((stage) => ({
    id: ctx.newId('ts'),
    run_id: run.id,
    stage,
    position: STAGES.indexOf(stage),
    status_timestamps: JSON.stringify({ pending: now.toISOString() }),
    created_at: now,
    updated_at: now,
  }))
  await store.insertStages(ctx.db, rows)
  const tasks = await listEffectiveTasks(ctx, { id: run.workspace_id, organization_id: run.organization_id })
  await createResults(ctx, run.id, { tasks, stages: new Map(rows.map((row) => [row.stage, row])) })
}
