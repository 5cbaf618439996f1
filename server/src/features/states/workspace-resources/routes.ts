import { documentOf, pageOf } from '@groundstate/contract/responses'
import { resourceCountsSchema, workspaceResourceSchema } from '@groundstate/contract/workspace-resources'
import { z } from 'zod'
import type { Routes } from '../../../http/http.ts'
import { REFUSAL, text } from '../../../http/query.ts'
import { ok } from '../../../http/responses.ts'
import * as service from './service.ts'

const DIRECTIONS = ['asc', 'desc'] as const
const SORTS = service.RESOURCE_SORTS.flatMap((name) => [
  name,
  ...DIRECTIONS.map((direction) => `${name}:${direction}` as const),
])
const SORT = z
  .preprocess(
    (value) => (typeof value === 'string' && value !== '' ? value : undefined),
    z
      .enum(SORTS, {
        error: ({ input }) =>
          `is ${JSON.stringify(input)}; it must be one of ${service.RESOURCE_SORTS.join(', ')} with :asc or :desc`,
      })
      .default('name'),
  )
  .transform((sort) => {
    const [name, direction] = sort.split(':', 2)
    return { name: name as service.ResourceSort, descending: direction === 'desc' }
  })
  .register(REFUSAL, { kind: 'bad-request' })
  .describe('`name` by default')

const list = {
  summary: 'List the resources of a workspace',
  access: { workspace: 'state-versions:read' },
  responses: { 200: pageOf(workspaceResourceSchema) },
  query: {
    q: text().describe('part of the address'),
    'filter[module]': text().describe('our own: a module, as the resources name it'),
    'filter[type]': text().describe('our own: the type of the resource, such as `random_pet`'),
    sort: SORT,
  },
} as const

const count = {
  summary: 'Count the resources of a workspace by module and by type',
  access: { workspace: 'state-versions:read' },
  responses: { 200: documentOf(resourceCountsSchema) },
} as const

export const workspaceResourceRoutes: Routes = (http) => {
  http.get('/workspaces/:workspaceId/resources', list, async (req) => {
    const page = req.page()
    const { q, sort, 'filter[module]': module, 'filter[type]': type } = req.query
    const filter = { q, module, type, sort }
    return req.list(
      await service.listWorkspaceResources(req.ctx, req.params.workspaceId, { filter, page }),
      service.workspaceResourceResource,
    )
  })
  // Our own: the options of filters in the UI.
  http.get('/workspaces/:workspaceId/resource-counts', count, async (req) => {
    return ok(service.resourceCountsResource(await service.countWorkspaceResources(req.ctx, req.params.workspaceId)))
  })
}
