import { taskStageIncludes } from '@groundstate/contract/includes'
import { commentBody } from '@groundstate/contract/json-api'
import { policyEvaluationSchema } from '@groundstate/contract/policies'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import { taskStageSchema } from '@groundstate/contract/task-stages'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { listAll, ok } from '../../../http/responses.ts'
import { listReadableTaskStages, listRunStages, overrideTaskStage, requireTaskStage } from './access.ts'
import { taskStageResource } from './resource.ts'

const list = {
  summary: 'List the task stages of a run',
  access: { workspace: 'runs:read' },
  responses: { 200: pageOf(taskStageSchema) },
  include: taskStageIncludes,
} as const
const show = {
  summary: 'Show a task stage',
  access: { workspace: 'runs:read' },
  responses: { 200: documentOf(taskStageSchema) },
  include: taskStageIncludes,
} as const
const policyEvaluations = {
  summary: 'List the policy evaluations of a task stage',
  access: { workspace: 'runs:read' },
  responses: { 200: wholeListOf(policyEvaluationSchema) },
} as const
const override = {
  summary: 'Override a task stage',
  access: { workspace: 'policy-overrides' },
  audit: { none: 'it is always refused, since no verdict waits to be overridden' },
  responses: { 200: documentOf(taskStageSchema) },
  body: commentBody,
} as const

export const taskStageRoutes: Routes = (http) => {
  http.get('/runs/:runId/task-stages', list, async (req) => {
    return req.list(await listRunStages(req.ctx, req.params.runId, req.page()), taskStageResource)
  })
  http.get('/task-stages/:id', show, async (req) => {
    return ok(taskStageResource(await requireTaskStage(req.ctx, req.params.id, 'runs:read')))
  })
  http.get('/task-stages/:id/policy-evaluations', policyEvaluations, async (req) => {
    await requireTaskStage(req.ctx, req.params.id, 'runs:read')
    return listAll([])
  })
  http.post('/task-stages/:id/actions/override', override, async (req) => overrideTaskStage(req.ctx, req.params.id))
}

export const taskStageLoaders: readonly Loader[] = [
  { type: 'task-stages', load: async (ctx, ids) => (await listReadableTaskStages(ctx, ids)).map(taskStageResource) },
]
