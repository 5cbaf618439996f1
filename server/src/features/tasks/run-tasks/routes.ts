import { taskIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createTaskBody, taskSchema, taskTestSchema, updateTaskBody } from '@groundstate/contract/run-tasks'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { created, ok } from '../../../http/responses.ts'
import { type Task, requireTask } from './access.ts'
import { taskResource, taskTestResource } from './resource.ts'
import { createTask, deleteTask, listTasks, updateTask, withAttachments } from './service.ts'
import { testTask } from './verify.ts'

const list = {
  summary: 'List run tasks',
  access: { organization: 'run-tasks:read' },
  responses: { 200: pageOf(taskSchema) },
  include: taskIncludes,
} as const
const create = {
  summary: 'Create a run task',
  access: { organization: 'run-tasks:manage' },
  audit: 'task create',
  responses: { 201: documentOf(taskSchema) },
  body: createTaskBody,
} as const
const show = {
  summary: 'Show a run task',
  access: { organization: 'run-tasks:read' },
  responses: { 200: documentOf(taskSchema) },
  include: taskIncludes,
} as const
const update = {
  summary: 'Update a run task',
  access: { organization: 'run-tasks:manage' },
  audit: 'task update',
  responses: { 200: documentOf(taskSchema) },
  body: updateTaskBody,
  include: taskIncludes,
} as const
const remove = {
  summary: 'Delete a run task',
  access: { organization: 'run-tasks:manage' },
  audit: 'task destroy',
  responses: { 204: null },
} as const
const test = {
  summary: 'Test the receiver of a run task',
  access: { organization: 'run-tasks:manage' },
  audit: { none: 'sends a request to the receiver and changes nothing' },
  responses: { 200: documentOf(taskTestSchema) },
} as const

export const taskRoutes: Routes = (http) => {
  http.get('/organizations/:organization/tasks', list, async (req) => {
    return req.list(await listTasks(req.ctx, req.params.organization, req.page()), taskResource)
  })
  http.post('/organizations/:organization/tasks', create, async (req) => {
    const task = await createTask(req.ctx, req.params.organization, req.body.data)
    return created(taskResource({ ...task, attachments: [] }))
  })
  http.get('/tasks/:taskId', show, async (req) => {
    return oneTask(req.ctx, await requireTask(req.ctx, req.params.taskId, 'run-tasks:read'))
  })
  http.patch('/tasks/:taskId', update, async (req) => {
    return oneTask(req.ctx, await updateTask(req.ctx, req.params.taskId, req.body.data))
  })
  http.delete('/tasks/:taskId', remove, async (req) => deleteTask(req.ctx, req.params.taskId))
  // Our own: the exchange with the receiver, for its developers.
  http.post('/tasks/:taskId/actions/test', test, async (req) => {
    const { task, verification, isHidden } = await testTask(req.ctx, req.params.taskId)
    return ok(taskTestResource(task, verification, isHidden))
  })
}

async function oneTask(ctx: Ctx, task: Task) {
  const [found = { ...task, attachments: [] }] = await withAttachments(ctx, [task])
  return ok(taskResource(found))
}
