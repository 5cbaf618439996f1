import { workspaceTaskIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createWorkspaceTaskBody, updateWorkspaceTaskBody, workspaceTaskSchema } from '@groundstate/contract/run-tasks'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { sortBy, text, textList } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { listReadableWorkspaceTasks, requireWorkspaceTask } from './access.ts'
import { workspaceTaskResource } from './resource.ts'
import * as service from './service.ts'

const ALL = '/workspaces/:workspaceId/tasks'
const ONE = '/workspaces/:workspaceId/tasks/:id'
const READ = { workspace: 'workspace:read' } as const
const MANAGE = { workspace: 'run-tasks:manage' } as const
const PAGE = { responses: { 200: pageOf(workspaceTaskSchema) } }
const WORKSPACE_TASK = { responses: { 200: documentOf(workspaceTaskSchema) } }

export const workspaceTaskRoutes: Routes = (http) => {
  http.get(
    '/tasks/:taskId/relationships/workspace-tasks',
    {
      summary: 'List the workspaces of a run task',
      access: { organization: 'run-tasks:read' },
      query: {
        q: text().describe('part of the name of the workspace; our own'),
        'filter[workspace][id]': textList().describe('ids of workspaces; our own'),
        sort: sortBy(['created-at', 'workspace-name'], 'created-at'),
      },
      include: workspaceTaskIncludes,
      ...PAGE,
    },
    async (req) => {
      const { q, sort, 'filter[workspace][id]': workspaceIds } = req.query
      const list = { q, workspaceIds, sort, page: req.page() }
      return req.list(await service.listTaskAttachments(req.ctx, req.params.taskId, list), workspaceTaskResource)
    },
  )
  http.get(ALL, { summary: 'List the run tasks of a workspace', access: READ, ...PAGE }, async (req) =>
    req.list(await service.listWorkspaceTasks(req.ctx, req.params.workspaceId, req.page()), workspaceTaskResource),
  )
  http.post(
    ALL,
    {
      summary: 'Attach a run task to a workspace',
      access: MANAGE,
      audit: 'workspace_task create',
      responses: { 201: documentOf(workspaceTaskSchema) },
      body: createWorkspaceTaskBody,
    },
    async (req) =>
      created(workspaceTaskResource(await service.createWorkspaceTask(req.ctx, req.params.workspaceId, req.body.data))),
  )
  http.get(ONE, { summary: 'Show a run task of a workspace', access: READ, ...WORKSPACE_TASK }, async (req) =>
    ok(workspaceTaskResource(await requireWorkspaceTask(req.ctx, req.params, 'workspace:read'))),
  )
  http.patch(
    ONE,
    {
      summary: 'Update a run task of a workspace',
      access: MANAGE,
      audit: 'workspace_task update',
      body: updateWorkspaceTaskBody,
      ...WORKSPACE_TASK,
    },
    async (req) =>
      ok(workspaceTaskResource(await service.updateWorkspaceTask(req.ctx, req.params, req.body.data.attributes))),
  )
  http.delete(
    ONE,
    {
      summary: 'Detach a run task from a workspace',
      access: MANAGE,
      audit: 'workspace_task destroy',
      responses: { 204: null },
    },
    async (req) => service.deleteWorkspaceTask(req.ctx, req.params),
  )
}

export const workspaceTaskLoaders: readonly Loader[] = [
  {
    type: 'workspace-tasks',
    load: async (ctx, ids) => (await listReadableWorkspaceTasks(ctx, ids)).map(workspaceTaskResource),
  },
]
