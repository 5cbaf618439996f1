import { documentOf } from '@groundstate/contract/responses'
import { workspaceReadmeSchema } from '@groundstate/contract/workspace-resources'
import type { Routes } from '../../../http/http.ts'
import { noContent, ok } from '../../../http/responses.ts'
import { readWorkspaceReadme } from './read.ts'
import { workspaceReadmeResource } from './resource.ts'

export const workspaceReadmeRoutes: Routes = (http) => {
  http.get(
    '/workspaces/:id/readme',
    {
      summary: 'Show the README of the current configuration of a workspace',
      access: { workspace: 'runs:read' },
      responses: { 200: documentOf(workspaceReadmeSchema), 204: null },
    },
    async (req) => {
      const readme = await readWorkspaceReadme(req.ctx, req.params.id)
      // Most have none, which is no error: pages ask for every workspace.
      return readme ? ok(workspaceReadmeResource(readme)) : noContent()
    },
  )
}
