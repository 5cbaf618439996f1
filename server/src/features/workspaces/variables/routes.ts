import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/variables'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { requiredText } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import type { permissionsBlock } from '../workspaces/access.ts'
import { variableResource } from './resource.ts'
import * as service from './service.ts'
import { listVariablesOfWorkspaces } from './store.ts'

const COLLECTION = '/workspaces/:workspaceId/vars'
/** The second path is the legacy API, which addresses a variable by its id alone. */
const MEMBERS = [`${COLLECTION}/:id`, '/vars/:id'] as const

const READ = { access: { workspace: 'variables:read' } } as const
const WRITE = { access: { workspace: 'variables:write' } } as const
const LIST = { ...READ, responses: { 200: wholeListOf(contract.variableSchema) } }
const ONE = { responses: { 200: documentOf(contract.variableSchema) } }

const CREATE = {
  ...WRITE,
  summary: 'Create a variable of a workspace',
  audit: 'variable create',
  responses: { 201: documentOf(contract.variableSchema) },
} as const
const UPDATE = {
  ...WRITE,
  ...ONE,
  summary: 'Update a variable of a workspace',
  audit: 'variable update',
  body: contract.updateVariableBody,
} as const
const UPDATE_SEVERAL = {
  ...WRITE,
  summary: 'Update several variables of a workspace',
  audit: 'variable update',
  responses: { 204: null },
  body: contract.updateVariablesBody,
} as const
const DELETE = {
  ...WRITE,
  summary: 'Delete a variable of a workspace',
  audit: 'variable destroy',
  responses: { 204: null },
} as const

/** Lists have no pages: the CLI reads only the first one. */
export const variableRoutes: Routes = (http) => {
  http.get(COLLECTION, { ...LIST, summary: 'List the variables of a workspace' }, async (req) => {
    const variables = await service.listWorkspaceVariables(req.ctx, { id: req.params.workspaceId })
    return listAll(variables.map((row) => variableResource(row)))
  })
  http.post(COLLECTION, { ...CREATE, body: contract.createVariableBody }, async (req) => {
    const variable = await service.createWorkspaceVariable(req.ctx, req.params.workspaceId, req.body.data.attributes)
    return created(variableResource(variable))
  })
  http.get(`${COLLECTION}/:id`, { ...READ, ...ONE, summary: 'Show a variable of a workspace' }, async (req) =>
    ok(variableResource(await service.showWorkspaceVariable(req.ctx, req.params.workspaceId, req.params.id))),
  )
  for (const path of MEMBERS) {
    http.patch(path, UPDATE, async (req) =>
      ok(variableResource(await service.updateWorkspaceVariable(req.ctx, req.params, req.body.data.attributes))),
    )
    http.delete(path, DELETE, async (req) => service.deleteWorkspaceVariable(req.ctx, req.params))
  }
  http.patch('/workspaces/:workspaceId/relationships/vars', UPDATE_SEVERAL, async (req) =>
    service.updateWorkspaceVariables(req.ctx, req.params.workspaceId, req.body.data),
  )
}

const LIST_BY_NAMES = {
  ...LIST,
  summary: 'List the variables of a workspace by its name',
  query: {
    'filter[organization][name]': requiredText().describe('required: the name of an organization'),
    'filter[workspace][name]': requiredText().describe('required: the name of a workspace in it'),
  },
} as const

export const legacyVariableRoutes: Routes = (http) => {
  http.get('/vars', LIST_BY_NAMES, async (req) => {
    const { 'filter[organization][name]': organization, 'filter[workspace][name]': name } = req.query
    const variables = await service.listWorkspaceVariables(req.ctx, { organization, name })
    return listAll(variables.map((row) => variableResource(row)))
  })
  http.post('/vars', { ...CREATE, body: contract.createLegacyVariableBody }, async (req) => {
    const { attributes, relationships } = req.body.data
    const variable = await service.createWorkspaceVariable(req.ctx, relationships.workspace.data.id, attributes)
    return created(variableResource(variable))
  })
}

/** The variables of workspaces, for callers who may read them. */
export const variableLoaders: readonly Loader[] = [
  {
    of: 'workspaces',
    relation: 'vars',
    load: async (ctx, workspaces) => {
      const readable = workspaces.flatMap(({ id, attributes }) => {
        const permissions = attributes?.['permissions'] as ReturnType<typeof permissionsBlock>
        return permissions['can-read-variable'] ? id : []
      })
      const variables = Map.groupBy(await listVariablesOfWorkspaces(ctx.db, readable), (row) => row.workspace_id)
      return new Map(workspaces.map(({ id }) => [id, (variables.get(id) ?? []).map((row) => variableResource(row))]))
    },
  },
]
