import type { Routes } from '../../../http/http.ts'
import { deleteWorkspace, safeDeleteWorkspace } from './service.ts'

const DELETION = {
  access: { workspace: 'workspace:delete' },
  audit: 'workspace destroy',
  responses: { 204: null },
} as const

export const workspaceDeletionRoutes: Routes = (http) => {
  for (const path of ['/workspaces/:id', '/organizations/:organization/workspaces/:name'] as const) {
    http.delete(path, { summary: 'Delete a workspace with everything in it', ...DELETION }, async (req) =>
      deleteWorkspace(req.ctx, req.params),
    )
    http.post(
      `${path}/actions/safe-delete`,
      { summary: 'Delete a workspace that manages no resources', ...DELETION },
      async (req) => safeDeleteWorkspace(req.ctx, req.params),
    )
  }
}
