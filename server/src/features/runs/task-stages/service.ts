import { type Stage, STAGES } from '@groundstate/contract/run-tasks'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { type WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { conflict, notFound } from '../../../errors.ts'
import { type EffectiveTask, listEffectiveTasks } from '../../tasks/run-tasks/list.ts'
import { requireRun } from '../runs/service.ts'
import { cancelResults, createResults, type EndedRun, startResults } from '../../tasks/task-results/service.ts'
import { HOLD_MS, tellHeldVerdict } from './held-verdict.ts'
import { tellVerdict } from './jobs.ts'
import * as store from './store.ts'
import { stageVerdict } from './verdict.ts'
import { advanceRun } from '../runs/advance.ts'
import { listResults, type TaskResultRow } from '../../tasks/task-results/store.ts'
type StageStatus = store.TaskStageRow['status']

/** A stage with its results, and what the actor may do in its workspace. */
export type TaskStage = store.TaskStageRow & {
  results: readonly (TaskResultRow & { plan_only: boolean })[]
  can: ReadonlySet<WorkspacePermission>
}

/** Throws `not-found` for a stage whose run the actor may not read, `forbidden` when it lacks the permission. */
export async function requireTaskStage(ctx: Ctx, id: string, permission: WorkspacePermission): Promise<TaskStage> {
  const row = await store.findTaskStage(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task stage')
  const { facts: _, ...stage } = row
  const access = readAccess(ctx.actor, row)
  checkAccess(access, { noun: 'task stage', permission, workspaceName: row.workspace_name })
  return { ...stage, can: access.can, results: await listResults(ctx.db, [stage.id]) }
}

export async function listRunStages(ctx: Ctx, runId: string): Promise<TaskStage[]> {
  const { id, can } = await requireRun(ctx, runId, 'runs:read')
  const stages = await store.listStages(ctx.db, [id])
  return withResults(
    ctx,
    stages.map((stage) => ({ ...stage, can })),
  )
}

/** Those of the stages whose run the actor may read. */
export async function listReadableTaskStages(ctx: Ctx, ids: readonly string[]): Promise<TaskStage[]> {
  if (ids.length === 0) return []
  const rows = await store.findTaskStages(ctx.db, ctx.actor, ids)
  return withResults(
    ctx,
    rows.flatMap((row) => {
      const access = readAccess(ctx.actor, row)
      return canReadRuns(access) ? { ...row, can: access.can } : []
    }),
  )
}

async function withResults(ctx: Ctx, stages: readonly Omit<TaskStage, 'results'>[]): Promise<TaskStage[]> {
  if (stages.length === 0) return []
  const rows = await listResults(
    ctx.db,
    stages.map((stage) => stage.id),
  )
  const results = Map.groupBy(rows, (result) => result.task_stage_id)
  return stages.map((stage) => ({ ...stage, results: results.get(stage.id) ?? [] }))
}

/**
 * Lets a run go on although a task has decided against it. No verdict of a run task waits for that: a mandatory one stops
 * the run and an advisory one warns, so there is never a stage to override. Throws `conflict` accordingly.
 */
export async function overrideTaskStage(ctx: Ctx, id: string): Promise<never> {
  const stage = await requireTaskStage(ctx, id, 'policy-overrides')
  throw conflict(`the task stage is ${stage.status}: only one that is awaiting_override can be overridden`)
}

/** The stages that a new run of the workspace has: those at which an enabled task is to be asked. */
export async function plannedStages(
  ctx: Pick<Ctx, 'db'>,
  workspace: { id: string; organization_id: string },
): Promise<Stage[]> {
  return stagesOf(await listEffectiveTasks(ctx, workspace))
}

function stagesOf(tasks: readonly EffectiveTask[]) {
  return STAGES.filter((name) => tasks.some((task) => task.stages.some(({ stage }) => stage === name)))
}

/** Makes the stages of a new run and their results, as pending. */
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

/** What the run machine is told of the stages. */
export async function stageStatuses(
  ctx: TransactionCtx,
  runId: string,
): Promise<Partial<Record<Stage, StageStatus | 'deferred'>>> {
  const rows = await store.listStatuses(ctx.db, runId)
  return Object.fromEntries(rows.map((row) => [row.stage, row.held_until === null ? row.status : 'deferred']))
}

/** The run has reached a stage: its requests go out once this transaction has committed. */
export async function startStage(ctx: TransactionCtx, run: { id: string }, name: Stage) {
  const stage = await store.beginStage(ctx.db, { runId: run.id, name, now: ctx.now() })
  if (!stage) return
  // When no task is to be asked any more, the run goes on at once.
  if (!(await startResults(ctx, stage.id))) await settleStage(ctx, stage.id)
}

/**
 * Ends a stage whose results have all ended, and takes the run on. In the transaction that ended the last result; it holds
 * the run's workspace.
 */
export async function settleStage(ctx: TransactionCtx, stageId: string) {
  const results = await listResults(ctx.db, [stageId])
  const verdict = stageVerdict(results)
  if (!verdict) return
  const moved = await store.endStage(ctx.db, stageId, { ...verdict, now: ctx.now() })
  if (!moved) return
  const stops = verdict.status !== 'passed' && moved.stage !== 'post_apply'
  const heldUntil = new Date(moved.started_at.getTime() + HOLD_MS)
  if (stops && moved.stage !== 'pre_plan' && heldUntil > ctx.now()) {
    await store.holdVerdict(ctx.db, stageId, heldUntil)
    await ctx.jobs.enqueue(ctx.db, tellVerdict, { stageId }, { startAfter: heldUntil })
    return
  }
  await advanceRun(ctx, moved.run_id, stops ? { run: { error: verdict.message } } : {})
}

/** A stage for somebody who reads it: whoever has seen the verdict may see its run end too. */
export async function showTaskStage(ctx: Ctx, id: string): Promise<TaskStage> {
  const stage = await requireTaskStage(ctx, id, 'runs:read')
  if (stage.held_until !== null) await tellHeldVerdict(ctx, stage.id)
  return stage
}

/** The run has ended: what is open no longer matters. */
export async function cancelStages(ctx: TransactionCtx, run: EndedRun) {
  await store.cancelStages(ctx.db, run.id, ctx.now())
  await cancelResults(ctx, run)
}
