import type { Ctx, TransactionCtx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { notFound } from '../../../errors.ts'
import type { EffectiveTask } from '../run-tasks/list.ts'
import * as store from './store.ts'

/** Wakes the processes that send requests and watch deadlines. */
export const TOPIC = 'task-results'

export type TaskResult = Omit<NonNullable<Awaited<ReturnType<typeof store.findTaskResult>>>, 'facts'>

/** Throws `not-found` for a result whose run the actor may not read, `forbidden` when it lacks the permission. */
export async function requireTaskResult(ctx: Ctx, id: string, permission: WorkspacePermission): Promise<TaskResult> {
  const row = await store.findTaskResult(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task result')
  const { facts: _, ...result } = row
  checkAccess(readAccess(ctx.actor, row), { noun: 'task result', permission, workspaceName: row.workspace_name })
  return result
}

/** Makes the results of a new run as pending; `stages` are the stages by name. */
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

/**
 * Lets the requests of a stage go out once this transaction has committed, each with a token of its own. Tasks that have
 * been disabled, detached or deleted since the run's creation are not asked; false when there is none to be asked.
 */
export async function startResults(ctx: TransactionCtx, stageId: string) {
  const now = ctx.now()
  const starts: store.Start[] = []
  const skips: { id: string; message: string }[] = []
  for (const row of await store.listResultsToStart(ctx.db, stageId)) {
    const change = changeSince(row)
    if (change !== undefined) {
      skips.push({ id: row.id, message: `not asked: the task ${row.task_name} ${change} after the run was created` })
      continue
    }
    const text = newTokenText()
    starts.push({
      id: row.id,
      tokenId: ctx.newId('at'),
      hash: tokenHash(text),
      sealed: ctx.secrets.seal(text, tokenContext(row.id)),
    })
  }
  if (skips.length > 0) await store.skipResults(ctx.db, skips, now)
  if (starts.length === 0) return false
  const deadline = new Date(now.getTime() + ctx.config.runTaskTimeout)
  await store.startResults(ctx.db, starts, { now, deadline, topic: TOPIC })
  return true
}

type ToStart = Awaited<ReturnType<typeof store.listResultsToStart>>[number]

function changeSince(row: ToStart) {
  if (row.task_id === null) return 'was deleted'
  if (!row.enabled) return 'was disabled'
  const atStage = row.stages?.includes(row.stage) || (row.global_enabled && row.global_stages?.includes(row.stage))
  if (atStage) return undefined
  return row.workspace_task_id === null ? 'was detached from the workspace' : 'was taken out of this stage'
}

/** The run has ended: what is open is canceled, what never began stays unreached, and every token dies. */
export async function cancelResults(ctx: TransactionCtx, run: EndedRun) {
  const message = ENDS[run.status] ?? `the run ended as ${run.status}`
  await store.cancelResults(ctx.db, run.id, { message, now: ctx.now() })
}

export type EndedRun = { id: string; status: string }

const ENDS: Record<string, string> = {
  canceled: 'the run was canceled',
  force_canceled: 'the run was canceled by force',
  discarded: 'the run was discarded',
}

/** What a result's token is sealed for. */
export function tokenContext(resultId: string) {
  return `task-results/${resultId}/access-token`
}
