import { taskStageIncludes } from '@groundstate/contract/includes'
import { commentBody } from '@groundstate/contract/json-api'
import { policyEvaluationSchema } from '@groundstate/contract/policies'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { type TaskStageResource, taskStageSchema } from '@groundstate/contract/task-stages'
import { conflict } from '../../../errors.ts'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { listAll, ok } from '../../../http/responses.ts'
import { timestamps } from '../../tasks/task-results/resource.ts'
import { listReadableTaskStages, listRunStages, requireTaskStage } from './access.ts'
import type { TaskStage } from './store.ts'

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
      await requireTaskStage(req.ctx, req.params.id, 'runs:read')
      return listAll([])
    },
  )
  http.post(
    '/task-stages/:id/actions/override',
    {
      summary: 'Override a task stage',
      access: { workspace: 'policy-overrides' },
      audit: { none: 'always rejected: no stage can await an override' },
      responses: STAGE,
      body: commentBody,
    },
    async (req) => {
      const { status } = await requireTaskStage(req.ctx, req.params.id, 'policy-overrides')
      // Results of run tasks never await an override: mandatory tasks stop the run, advisory ones warn.
      throw conflict(`the task stage is ${status}: only one that is awaiting_override can be overridden`)
    },
  )
}

function taskStageResource(stage: TaskStage): TaskStageResource {
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
      // Clients require the relation, although policies are not supported.
      'policy-evaluations': { data: [] },
    },
    links: { self: `/api/v2/task-stages/${stage.id}` },
  }
}

export const taskStageLoaders: readonly Loader[] = [
  { type: 'task-stages', load: async (ctx, ids) => (await listReadableTaskStages(ctx, ids)).map(taskStageResource) },
]
