import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import {
  createLegacyVariableBody,
  createVariableBody,
  updateVariableBody,
  updateVariablesBody,
  variableSchema,
} from '@groundstate/contract/variables'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { requiredText } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import type { permissionsBlock } from '../workspaces/access.ts'
import { variableResource } from './resource.ts'
import {
  createWorkspaceVariable,
  deleteWorkspaceVariable,
  listVariablesByNames,
  listWorkspaceVariables,
  showWorkspaceVariable,
  updateWorkspaceVariable,
  updateWorkspaceVariables,
} from './service.ts'
import { listVariablesOfWorkspaces } from './store.ts'

const COLLECTION = '/workspaces/:workspaceId/vars'
/** The second path is the older interface, which knows a variable by its id alone. */
const MEMBERS = ['/workspaces/:workspaceId/vars/:id', '/vars/:id'] as const

const LIST = { responses: { 200: wholeListOf(variableSchema) } }
const ONE = { responses: { 200: documentOf(variableSchema) } }
const CREATE = {
  summary: 'Create a variable of a workspace',
  access: { workspace: 'variables:write' },
  audit: 'variable create',
  responses: { 201: documentOf(variableSchema) },
} as const
const NO_CONTENT = { responses: { 204: null } }

/** Lists are whole: the command lines read the first page only. */
export const variableRoutes: Routes = (http) => {
  http.get(
    COLLECTION,
    { ...LIST, summary: 'List the variables of a workspace', access: { workspace: 'variables:read' } },
    async (req) => {
      const variables = await listWorkspaceVariables(req.ctx, req.params.workspaceId)
      return listAll(variables.map((row) => variableResource(row)))
    },
  )
  http.post(COLLECTION, { ...CREATE, body: createVariableBody }, async (req) => {
    const variable = await createWorkspaceVariable(req.ctx, req.params.workspaceId, req.body.data.attributes)
    return created(variableResource(variable))
  })
  http.get(
    `${COLLECTION}/:id`,
    { ...ONE, summary: 'Show a variable of a workspace', access: { workspace: 'variables:read' } },
    async (req) => {
      return ok(variableResource(await showWorkspaceVariable(req.ctx, req.params.workspaceId, req.params.id)))
    },
  )
  for (const path of MEMBERS) {
    const update = {
      ...ONE,
      summary: 'Update a variable of a workspace',
      access: { workspace: 'variables:write' },
      audit: 'variable update',
      body: updateVariableBody,
    } as const
    http.patch(path, update, async (req) => {
      return ok(variableResource(await updateWorkspaceVariable(req.ctx, req.params, req.body.data.attributes)))
    })
    http.delete(
      path,
      {
        ...NO_CONTENT,
        summary: 'Delete a variable of a workspace',
        access: { workspace: 'variables:write' },
        audit: 'variable destroy',
      },
      async (req) => deleteWorkspaceVariable(req.ctx, req.params),
    )
  }
  const updateSeveral = {
    ...NO_CONTENT,
    summary: 'Update several variables of a workspace',
    access: { workspace: 'variables:write' },
    audit: 'variable update',
    body: updateVariablesBody,
  } as const
  http.patch('/workspaces/:workspaceId/relationships/vars', updateSeveral, async (req) =>
    updateWorkspaceVariables(req.ctx, req.params.workspaceId, req.body.data),
  )
}

const LIST_BY_NAMES = {
  ...LIST,
  summary: 'List the variables of a workspace by its name',
  access: { workspace: 'variables:read' },
  query: {
    'filter[organization][name]': requiredText().describe('required: the name of an organization'),
    'filter[workspace][name]': requiredText().describe('required: the name of a workspace in it'),
  },
} as const

/** The older interface, without the workspace in the path. */
export const legacyVariableRoutes: Routes = (http) => {
  http.get('/vars', LIST_BY_NAMES, async (req) => {
    const variables = await listVariablesByNames(req.ctx, {
      organization: req.query['filter[organization][name]'],
      workspace: req.query['filter[workspace][name]'],
    })
    return listAll(variables.map((row) => variableResource(row)))
  })
  http.post('/vars', { ...CREATE, body: createLegacyVariableBody }, async (req) => {
    const { attributes, relationships } = req.body.data
    const variable = await createWorkspaceVariable(req.ctx, relationships.workspace.data.id, attributes)
    return created(variableResource(variable))
  })
}

/** The variables of workspaces, for callers who may read them. */
export const variableLoaders: readonly Loader[] = [
  {
    of: 'workspaces',
    relation: 'vars',
    load: async (ctx, workspaces) => {
      const readable = workspaces.filter(({ attributes }) => {
        const permissions = attributes?.['permissions'] as ReturnType<typeof permissionsBlock>
        return permissions['can-read-variable']
      })
      const rows = await listVariablesOfWorkspaces(
        ctx.db,
        readable.map(({ id }) => id),
      )
      const variables = Map.groupBy(rows, (row) => row.workspace_id)
      return new Map(workspaces.map(({ id }) => [id, (variables.get(id) ?? []).map((row) => variableResource(row))]))
    },
  },
]
