import { documentOf, pageOf } from '@groundstate/contract/answers'
import { resourceCountsSchema, workspaceResourceSchema } from '@groundstate/contract/workspace-resources'
import { z } from 'zod'
import { listPage, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { countWorkspaceResources } from './count.ts'
import { listWorkspaceResources } from './list.ts'
import { resourceCountsResource, workspaceResourceResource } from './resource.ts'

const list = {
  summary: 'List the resources of a workspace',
  answers: { 200: pageOf(workspaceResourceSchema) },
  query: {
    q: z.string().describe('part of the address'),
    'filter[module]': z.string().describe('our own: a module, as the resources name it'),
    'filter[type]': z.string().describe('our own: the type of the resource, such as `random_pet`'),
    sort: z
      .string()
      .describe(
        'one of `name` (the default), `nameIndex`, `provider`, `providerType`, `module`, `updatedAt`, with `:asc` or `:desc`',
      ),
  },
}

const count = {
  summary: 'Count the resources of a workspace by module and by type',
  answers: { 200: documentOf(resourceCountsSchema) },
}

export const workspaceResourceRoutes: Routes = (http) => {
  http.get('/workspaces/:workspaceId/resources', list, async (req) => {
    const page = req.page()
    const filter = {
      q: readText(req.query, 'q'),
      module: readText(req.query, 'filter[module]'),
      type: readText(req.query, 'filter[type]'),
      sort: req.query['sort'],
    }
    const { rows, total } = await listWorkspaceResources(req.ctx, req.params.workspaceId, { filter, page })
    return listPage({ url: req.url, page }, { rows: rows.map(workspaceResourceResource), total })
  })

  // Our own: what a page offers to choose from when there are thousands.
  http.get('/workspaces/:workspaceId/resource-counts', count, async (req) => {
    return ok(resourceCountsResource(await countWorkspaceResources(req.ctx, req.params.workspaceId)))
  })
}
