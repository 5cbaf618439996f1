import type { Ctx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { type Page, pageOffset } from '../../../db/db.ts'
import { conflict, notFound } from '../../../errors.ts'
import { listResults } from '../../tasks/task-results/store.ts'
import { requireRun } from '../runs/access.ts'
import type { TaskStage } from './store.ts'
import * as store from './store.ts'

/** Throws `not-found` for a stage whose run the actor may not read, `forbidden` when it lacks the permission. */
export async function requireTaskStage(ctx: Ctx, id: string, permission: WorkspacePermission): Promise<TaskStage> {
  const row = await store.findTaskStage(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task stage')
  const { access: _, ...stage } = row
  const access = readAccess(ctx.actor, row)
  checkAccess(access, { noun: 'task stage', permission, workspaceName: row.workspace_name })
  return { ...stage, can: access.can, results: await listResults(ctx.db, [stage.id]) }
}

/** The stages of a run, in the order in which the run reaches them. */
export async function listRunStages(ctx: Ctx, runId: string, page: Page) {
  const { id, can } = await requireRun(ctx, runId, 'runs:read')
  const stages = (await store.listStages(ctx.db, [id])).map((stage) => ({ ...stage, can }))
  const shown = stages.slice(pageOffset(page), pageOffset(page) + page.size)
  return { rows: await withResults(ctx, shown), total: stages.length }
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
 * Always throws `conflict`. An override lets a run go on against a verdict that waits for a decision, and no verdict
 * of a run task does: a mandatory task stops the run, an advisory one warns.
 */
export async function overrideTaskStage(ctx: Ctx, id: string): Promise<never> {
  const stage = await requireTaskStage(ctx, id, 'policy-overrides')
  throw conflict(`the task stage is ${stage.status}: only one that is awaiting_override can be overridden`)
}
