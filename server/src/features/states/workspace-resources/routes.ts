import { pageOf } from '@groundstate/contract/answers'
import { workspaceResourceSchema } from '@groundstate/contract/workspace-resources'
import { z } from 'zod'
import { listPage } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { listWorkspaceResources } from './list.ts'
import { workspaceResourceResource } from './resource.ts'

const list = {
  summary: 'List the resources of a workspace',
  answers: { 200: pageOf(workspaceResourceSchema) },
  query: {
    q: z.string().describe('part of the address'),
    sort: z
      .string()
      .describe(
        'one of `name` (the default), `nameIndex`, `provider`, `providerType`, `module`, `updatedAt`, with `:asc` or `:desc`',
      ),
  },
}

export const workspaceResourceRoutes: Routes = (http) => {
  http.get('/workspaces/:workspaceId/resources', list, async (req) => {
    const page = req.page()
    const filter = { q: req.query['q'], sort: req.query['sort'] }
    const { rows, total } = await listWorkspaceResources(req.ctx, req.params.workspaceId, filter, page)
    return listPage({ url: req.url, page }, { rows: rows.map(workspaceResourceResource), total })
  })
}
