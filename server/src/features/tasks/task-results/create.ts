import type { TransactionCtx } from '../../../app.ts'
import type { EffectiveTask } from '../run-tasks/list.ts'
import * as store from './store.ts'

/** Creates the results of a new run as pending; `stages` are the stages by name. */
export async function createResults(
  ctx: TransactionCtx,
  runId: string,
  { tasks, stages }: { tasks: readonly EffectiveTask[]; stages: ReadonlyMap<string, { id: string }> },
) {
  const rows = tasks.flatMap((task) =>
    task.stages.flatMap(({ stage, enforcementLevel }): store.NewResult[] => {
      const taskStage = stages.get(stage)
      if (!taskStage) return []
      return [
        {
          id: ctx.newId('taskrs'),
          task_stage_id: taskStage.id,
          stage,
          task_id: task.id,
          task_name: task.name,
          task_url: task.url,
          workspace_task_id: task.workspaceTaskId,
          agent_pool_id: task.agentPoolId,
          enforcement_level: enforcementLevel,
        },
      ]
    }),
  )
  await store.insertResults(ctx.db, runId, { rows, now: ctx.now() })
}
