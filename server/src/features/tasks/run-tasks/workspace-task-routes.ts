import { createWorkspaceTaskBody, updateWorkspaceTaskBody } from '@groundstate/contract/run-tasks'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { workspaceTaskResource } from './resource.ts'
import {
  createWorkspaceTask,
  deleteWorkspaceTask,
  listWorkspaceTasks,
  showWorkspaceTask,
  updateWorkspaceTask,
} from './workspace-tasks.ts'

const ALL = '/workspaces/:workspaceId/tasks'
const ONE = '/workspaces/:workspaceId/tasks/:id'

export const workspaceTaskRoutes: Routes = (http) => {
  http.get(ALL, async (req) => {
    const page = req.page()
    const { rows, total } = await listWorkspaceTasks(req.ctx, req.params.workspaceId, page)
    return listPage({ url: req.url, page }, { rows: rows.map(workspaceTaskResource), total })
  })
  http.post(ALL, { body: createWorkspaceTaskBody }, async (req) => {
    return created(workspaceTaskResource(await createWorkspaceTask(req.ctx, req.params.workspaceId, req.body.data)))
  })
  http.get(ONE, async (req) => {
    return ok(workspaceTaskResource(await showWorkspaceTask(req.ctx, req.params.workspaceId, req.params.id)))
  })
  http.patch(ONE, { body: updateWorkspaceTaskBody }, async (req) => {
    const { workspaceId, id } = req.params
    return ok(workspaceTaskResource(await updateWorkspaceTask(req.ctx, { workspaceId, id }, req.body.data.attributes)))
  })
  http.delete(ONE, async (req) => {
    await deleteWorkspaceTask(req.ctx, req.params.workspaceId, req.params.id)
    return noContent()
  })
}
