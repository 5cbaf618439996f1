import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createWorkspaceTaskBody, updateWorkspaceTaskBody, workspaceTaskSchema } from '@groundstate/contract/run-tasks'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { created, ok } from '../../../http/responses.ts'
import { listReadableWorkspaceTasks, requireWorkspaceTask } from './access.ts'
import { workspaceTaskResource } from './resource.ts'
import {
  createWorkspaceTask,
  deleteWorkspaceTask,
  listTaskAttachments,
  listWorkspaceTasks,
  updateWorkspaceTask,
} from './service.ts'

const ALL = '/workspaces/:workspaceId/tasks'
const ONE = '/workspaces/:workspaceId/tasks/:id'

const listOfTask = {
  summary: 'List the workspaces of a run task',
  access: { organization: 'run-tasks:read' },
  responses: { 200: pageOf(workspaceTaskSchema) },
} as const
const list = {
  summary: 'List the run tasks of a workspace',
  access: { workspace: 'workspace:read' },
  responses: { 200: pageOf(workspaceTaskSchema) },
} as const
const create = {
  summary: 'Attach a run task to a workspace',
  access: { workspace: 'run-tasks:manage' },
  audit: 'workspace_task create',
  responses: { 201: documentOf(workspaceTaskSchema) },
  body: createWorkspaceTaskBody,
} as const
const show = {
  summary: 'Show a run task of a workspace',
  access: { workspace: 'workspace:read' },
  responses: { 200: documentOf(workspaceTaskSchema) },
} as const
const update = {
  summary: 'Update a run task of a workspace',
  access: { workspace: 'run-tasks:manage' },
  audit: 'workspace_task update',
  responses: { 200: documentOf(workspaceTaskSchema) },
  body: updateWorkspaceTaskBody,
} as const
const remove = {
  summary: 'Detach a run task from a workspace',
  access: { workspace: 'run-tasks:manage' },
  audit: 'workspace_task destroy',
  responses: { 204: null },
} as const

export const workspaceTaskRoutes: Routes = (http) => {
  http.get('/tasks/:taskId/relationships/workspace-tasks', listOfTask, async (req) => {
    return req.list(await listTaskAttachments(req.ctx, req.params.taskId, req.page()), workspaceTaskResource)
  })
  http.get(ALL, list, async (req) => {
    return req.list(await listWorkspaceTasks(req.ctx, req.params.workspaceId, req.page()), workspaceTaskResource)
  })
  http.post(ALL, create, async (req) => {
    return created(workspaceTaskResource(await createWorkspaceTask(req.ctx, req.params.workspaceId, req.body.data)))
  })
  http.get(ONE, show, async (req) => {
    return ok(workspaceTaskResource(await requireWorkspaceTask(req.ctx, req.params, 'workspace:read')))
  })
  http.patch(ONE, update, async (req) => {
    return ok(workspaceTaskResource(await updateWorkspaceTask(req.ctx, req.params, req.body.data.attributes)))
  })
  http.delete(ONE, remove, async (req) => deleteWorkspaceTask(req.ctx, req.params))
}

export const workspaceTaskLoaders: readonly Loader[] = [
  {
    type: 'workspace-tasks',
    load: async (ctx, ids) => (await listReadableWorkspaceTasks(ctx, ids)).map(workspaceTaskResource),
  },
]
