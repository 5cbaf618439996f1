import type { Ctx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { type Page, pageOffset } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import { listResults } from '../../tasks/task-results/store.ts'
import { requireRun } from '../runs/access.ts'
import * as store from './store.ts'

/** Throws `not-found` if the actor may not read the stage's run, `forbidden` if it lacks the permission. */
export async function requireTaskStage(
  ctx: Ctx,
  id: string,
  permission: WorkspacePermission,
): Promise<store.TaskStage> {
  const row = await store.findTaskStage(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task stage')
  const { access: _, ...stage } = row
  const access = readAccess(ctx.actor, row)
  checkAccess(access, { noun: 'task stage', permission, workspaceName: row.workspace_name })
  return { ...stage, can: access.can, results: await listResults(ctx.db, [stage.id]) }
}

/** A page of the stages of a run, in execution order. */
export async function listRunStages(ctx: Ctx, runId: string, page: Page) {
  const { id, can } = await requireRun(ctx, runId, 'runs:read')
  const stages = (await store.listStages(ctx.db, [id])).map((stage) => ({ ...stage, can }))
  const offset = pageOffset(page)
  return { rows: await withResults(ctx, stages.slice(offset, offset + page.size)), total: stages.length }
}

export async function listReadableTaskStages(ctx: Ctx, ids: readonly string[]): Promise<store.TaskStage[]> {
  if (ids.length === 0) return []
  const rows = await store.findTaskStages(ctx.db, ctx.actor, ids)
  const stages = rows.map((row) => ({ row, access: readAccess(ctx.actor, row) }))
  const readable = stages.filter(({ access }) => canReadRuns(access))
  return withResults(
    ctx,
    readable.map(({ row, access }) => ({ ...row, can: access.can })),
  )
}

async function withResults(ctx: Ctx, stages: readonly Omit<store.TaskStage, 'results'>[]): Promise<store.TaskStage[]> {
  if (stages.length === 0) return []
  const ids = stages.map((stage) => stage.id)
  const results = Map.groupBy(await listResults(ctx.db, ids), (result) => result.task_stage_id)
  return stages.map((stage) => ({ ...stage, results: results.get(stage.id) ?? [] }))
}
