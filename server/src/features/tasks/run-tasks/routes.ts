import { createTaskBody, updateTaskBody } from '@groundstate/contract/run-tasks'
import type { Resource } from '@groundstate/contract/json-api'
import type { Ctx } from '../../../app.ts'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { listReadableWorkspaces } from '../../workspaces/workspaces/service.ts'
import { taskResource, workspaceTaskResource } from './resource.ts'
import {
  createTask,
  deleteTask,
  listAttachments,
  listTasks,
  requireTask,
  type Task,
  testTask,
  updateTask,
} from './service.ts'
import { taskTestResource } from './test-resource.ts'
import { workspaceResource } from '../../workspaces/workspaces/resource.ts'

const include = ['workspace_tasks', 'workspace_tasks.workspace']

export const taskRoutes: Routes = (http) => {
  http.get('/organizations/:organization/tasks', { include }, async (req) => {
    const page = req.page()
    const { rows, total } = await listTasks(req.ctx, req.params.organization, page)
    const { resources, included } = await taskDocuments(req.ctx, rows, req.includes)
    return listPage({ url: req.url, page }, { rows: resources, total }, included)
  })
  http.post('/organizations/:organization/tasks', { body: createTaskBody }, async (req) => {
    const task = await createTask(req.ctx, req.params.organization, req.body.data)
    return created(taskResource(task, []))
  })
  http.get('/tasks/:taskId', { include }, async (req) => {
    return oneTask(req.ctx, await requireTask(req.ctx, req.params.taskId, 'run-tasks:read'), req.includes)
  })
  http.patch('/tasks/:taskId', { body: updateTaskBody, include }, async (req) => {
    return oneTask(req.ctx, await updateTask(req.ctx, req.params.taskId, req.body.data), req.includes)
  })
  http.delete('/tasks/:taskId', async (req) => {
    await deleteTask(req.ctx, req.params.taskId)
    return noContent()
  })
  http.get('/tasks/:taskId/relationships/workspace-tasks', async (req) => {
    const page = req.page()
    const task = await requireTask(req.ctx, req.params.taskId, 'run-tasks:read')
    const attached = (await listAttachments(req.ctx, [task.id])).get(task.id) ?? []
    const start = (page.number - 1) * page.size
    const rows = attached.slice(start, start + page.size).map(workspaceTaskResource)
    return listPage({ url: req.url, page }, { rows, total: attached.length })
  })
  // Our own: what a receiver gets and answers, for those who build one.
  http.post('/tasks/:taskId/actions/test', async (req) => {
    const { task, verification } = await testTask(req.ctx, req.params.taskId)
    return ok(taskTestResource(task, verification))
  })
}

async function oneTask(ctx: Ctx, task: Task, includes: ReadonlySet<string>) {
  const { resources, included } = await taskDocuments(ctx, [task], includes)
  return ok(resources[0] ?? taskResource(task, []), included)
}

async function taskDocuments(
  ctx: Ctx,
  tasks: readonly Omit<Task, 'facts'>[],
  includes: ReadonlySet<string>,
): Promise<{ resources: Resource[]; included?: Resource[] }> {
  const attached = await listAttachments(
    ctx,
    tasks.map((task) => task.id),
  )
  const resources = tasks.map((task) => taskResource(task, attached.get(task.id) ?? []))
  if (includes.size === 0) return { resources }
  const rows = [...attached.values()].flat()
  const workspaceIds = [...new Set(rows.map((row) => row.workspace_id))]
  const workspaces = includes.has('workspace_tasks.workspace') ? await listReadableWorkspaces(ctx, workspaceIds) : []
  return {
    resources,
    included: [...rows.map(workspaceTaskResource), ...workspaces.map((workspace) => workspaceResource(workspace))],
  }
}
