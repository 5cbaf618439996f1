import type { Routes } from '../../../http/http.ts'
import { deleteWorkspace, safeDeleteWorkspace } from './service.ts'

const DELETE = {
  summary: 'Delete a workspace with everything in it',
  access: { workspace: 'workspace:delete' },
  audit: 'workspace destroy',
  responses: { 204: null },
} as const
const SAFE_DELETE = {
  summary: 'Delete a workspace that manages no resources',
  access: { workspace: 'workspace:delete' },
  audit: 'workspace destroy',
  responses: { 204: null },
} as const

export const workspaceDeletionRoutes: Routes = (http) => {
  for (const path of ['/workspaces/:id', '/organizations/:organization/workspaces/:name'] as const) {
    http.delete(path, DELETE, async (req) => deleteWorkspace(req.ctx, req.params))
    http.post(`${path}/actions/safe-delete`, SAFE_DELETE, async (req) => safeDeleteWorkspace(req.ctx, req.params))
  }
}
