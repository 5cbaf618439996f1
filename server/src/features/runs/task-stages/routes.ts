import { taskStageIncludes } from '@groundstate/contract/includes'
import { commentBody } from '@groundstate/contract/json-api'
import { policyEvaluationSchema } from '@groundstate/contract/policies'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { type TaskStageResource, taskStageSchema } from '@groundstate/contract/task-stages'
import type { Ctx } from '../../../app.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import { canReadRuns, checkAccess, readAccess } from '../../../auth/workspace-access.ts'
import { type Page, pageOffset } from '../../../db/db.ts'
import { notFound } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { listAll, ok } from '../../../http/responses.ts'
import { policyEvaluationResource } from '../../policies/policy-evaluations/resource.ts'
import { listEvaluations } from '../../policies/policy-evaluations/store.ts'
import { timestamps } from '../../tasks/task-results/resource.ts'
import { listResults } from '../../tasks/task-results/store.ts'
import { requireRun } from '../runs/access.ts'
import { overrideStage } from './override.ts'
import * as store from './store.ts'

const STAGE = { 200: documentOf(taskStageSchema) }

export const taskStageRoutes: Routes = (http) => {
  http.get(
    '/runs/:runId/task-stages',
    {
      summary: 'List the task stages of a run',
      access: { workspace: 'runs:read' },
      responses: { 200: pageOf(taskStageSchema) },
      include: taskStageIncludes,
    },
    async (req) => req.list(await listRunStages(req.ctx, req.params.runId, req.page()), taskStageResource),
  )
  http.get(
    '/task-stages/:id',
    {
      summary: 'Show a task stage',
      access: { workspace: 'runs:read' },
      responses: STAGE,
      include: taskStageIncludes,
    },
    async (req) => ok(taskStageResource(await requireTaskStage(req.ctx, req.params.id, 'runs:read'))),
  )
  http.get(
    '/task-stages/:id/policy-evaluations',
    {
      summary: 'List the policy evaluations of a task stage',
      access: { workspace: 'runs:read' },
      responses: { 200: wholeListOf(policyEvaluationSchema) },
    },
    async (req) => {
      const { evaluations } = await requireTaskStage(req.ctx, req.params.id, 'runs:read')
      return listAll(evaluations.map(policyEvaluationResource))
    },
  )
  http.post(
    '/task-stages/:id/actions/override',
    {
      summary: 'Override a task stage',
      access: { workspace: 'policy-overrides' },
      audit: 'run override_policies',
      responses: STAGE,
      body: commentBody,
    },
    async (req) => {
      const stage = await requireTaskStage(req.ctx, req.params.id, 'policy-overrides')
      await overrideStage(req.ctx, stage, req.body)
      return ok(taskStageResource(await requireTaskStage(req.ctx, req.params.id, 'runs:read')))
    },
  )
}

function taskStageResource(stage: store.TaskStage): TaskStageResource {
  const mayOverride = stage.can.has('policy-overrides')
  return {
    id: stage.id,
    type: 'task-stages',
    attributes: {
      stage: stage.stage,
      status: stage.status,
      'status-timestamps': timestamps(stage.status_timestamps as Record<string, string>),
      // Not part of the public API: the task that decided, and its message.
      message: stage.message,
      'created-at': stage.created_at,
      'updated-at': stage.updated_at,
      permissions: {
        'can-override-policy': mayOverride,
        'can-override-tasks': mayOverride,
        'can-override': mayOverride,
      },
      actions: { 'is-overridable': stage.status === 'awaiting_override' },
    },
    relationships: {
      run: { data: { id: stage.run_id, type: 'runs' } },
      'task-results': { data: stage.results.map(({ id }) => ({ id, type: 'task-results' })) },
      'policy-evaluations': { data: stage.evaluations.map(({ id }) => ({ id, type: 'policy-evaluations' })) },
    },
    links: { self: `/api/v2/task-stages/${stage.id}` },
  }
}

export const taskStageLoaders: readonly Loader[] = [
  { type: 'task-stages', load: async (ctx, ids) => (await listReadableTaskStages(ctx, ids)).map(taskStageResource) },
]

/** Throws `not-found` if the actor may not read the stage's run, `forbidden` if it lacks the permission. */
async function requireTaskStage(ctx: Ctx, id: string, permission: WorkspacePermission): Promise<store.TaskStage> {
  const row = await store.findTaskStage(ctx.db, ctx.actor, id)
  if (!row) throw notFound('task stage')
  const { access: _, ...stage } = row
  const access = readAccess(ctx.actor, row)
  checkAccess(access, { noun: 'task stage', permission, workspaceName: row.workspace_name })
  const [whole] = await withResults(ctx, [{ ...stage, can: access.can }])
  if (!whole) throw notFound('task stage')
  return whole
}

/** A page of the stages of a run, in execution order. */
async function listRunStages(ctx: Ctx, runId: string, page: Page) {
  const { id, can } = await requireRun(ctx, runId, 'runs:read')
  const stages = (await store.listStages(ctx.db, [id])).map((stage) => ({ ...stage, can }))
  const offset = pageOffset(page)
  return { rows: await withResults(ctx, stages.slice(offset, offset + page.size)), total: stages.length }
}

async function listReadableTaskStages(ctx: Ctx, ids: readonly string[]): Promise<store.TaskStage[]> {
  if (ids.length === 0) return []
  const rows = await store.findTaskStages(ctx.db, ctx.actor, ids)
  const stages = rows.map((row) => ({ row, access: readAccess(ctx.actor, row) }))
  const readable = stages.filter(({ access }) => canReadRuns(access))
  return withResults(
    ctx,
    readable.map(({ row, access }) => ({ ...row, can: access.can })),
  )
}

type StageAlone = Omit<store.TaskStage, 'results' | 'evaluations'>

async function withResults(ctx: Ctx, stages: readonly StageAlone[]): Promise<store.TaskStage[]> {
  if (stages.length === 0) return []
  const ids = stages.map((stage) => stage.id)
  const [results, evaluations] = await Promise.all([listResults(ctx.db, ids), listEvaluations(ctx.db, ids)])
  const resultsOf = Map.groupBy(results, (result) => result.task_stage_id)
  const evaluationsOf = Map.groupBy(evaluations, (evaluation) => evaluation.task_stage_id)
  return stages.map((stage) => ({
    ...stage,
    results: resultsOf.get(stage.id) ?? [],
    evaluations: evaluationsOf.get(stage.id) ?? [],
  }))
}
