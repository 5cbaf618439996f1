import { taskIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createTaskBody, taskSchema, taskTestSchema, updateTaskBody } from '@groundstate/contract/run-tasks'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { type Task, requireTask } from './access.ts'
import { taskResource, taskTestResource } from './resource.ts'
import { createTask, deleteTask, listTasks, updateTask, withAttachments } from './service.ts'
import { testTask } from './verify.ts'

const TASK = { responses: { 200: documentOf(taskSchema) }, include: taskIncludes }
const READ = { organization: 'run-tasks:read' } as const
const MANAGE = { organization: 'run-tasks:manage' } as const

export const taskRoutes: Routes = (http) => {
  http.get(
    '/organizations/:organization/tasks',
    {
      summary: 'List run tasks',
      access: READ,
      query: { q: text().describe('part of the name or URL; our own') },
      responses: { 200: pageOf(taskSchema) },
      include: taskIncludes,
    },
    async (req) =>
      req.list(await listTasks(req.ctx, req.params.organization, { page: req.page(), q: req.query.q }), taskResource),
  )
  http.post(
    '/organizations/:organization/tasks',
    {
      summary: 'Create a run task',
      access: MANAGE,
      audit: 'task create',
      responses: { 201: documentOf(taskSchema) },
      body: createTaskBody,
    },
    async (req) => {
      const task = await createTask(req.ctx, req.params.organization, req.body.data)
      return created(taskResource({ ...task, attachments: [] }))
    },
  )
  http.get('/tasks/:taskId', { summary: 'Show a run task', access: READ, ...TASK }, async (req) =>
    oneTask(req.ctx, await requireTask(req.ctx, req.params.taskId, 'run-tasks:read')),
  )
  http.patch(
    '/tasks/:taskId',
    { summary: 'Update a run task', access: MANAGE, audit: 'task update', body: updateTaskBody, ...TASK },
    async (req) => oneTask(req.ctx, await updateTask(req.ctx, req.params.taskId, req.body.data)),
  )
  http.delete(
    '/tasks/:taskId',
    { summary: 'Delete a run task', access: MANAGE, audit: 'task destroy', responses: { 204: null } },
    async (req) => deleteTask(req.ctx, req.params.taskId),
  )
  // Our own: the exchange with the receiver, for its developers.
  http.post(
    '/tasks/:taskId/actions/test',
    {
      summary: 'Test the receiver of a run task',
      access: MANAGE,
      audit: { none: 'sends a request to the receiver and changes nothing' },
      responses: { 200: documentOf(taskTestSchema) },
    },
    async (req) => {
      const { task, verification, isHidden } = await testTask(req.ctx, req.params.taskId)
      return ok(taskTestResource(task, verification, isHidden))
    },
  )
}

async function oneTask(ctx: Ctx, task: Task) {
  const [shown = { ...task, attachments: [] }] = await withAttachments(ctx, [task])
  return ok(taskResource(shown))
}
