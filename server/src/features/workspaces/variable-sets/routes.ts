import { setWorkspaceIncludes, variableSetIncludes } from '@groundstate/contract/includes'
import { identifiersBody } from '@groundstate/contract/json-api'
import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/responses'
import {
  SET_SCOPES,
  createVariableSetBody,
  setWorkspaceSchema,
  updateVariableSetBody,
  variableSetSchema,
} from '@groundstate/contract/variable-sets'
import { createVariableBody, updateVariableBody, variableSchema } from '@groundstate/contract/variables'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean, oneOf, text } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import { variableResource } from '../variables/resource.ts'
import { listVariablesOfSets } from '../variables/store.ts'
import { requireVariableSet } from './access.ts'
import { listAllWorkspaceVariables } from './effective-variables.ts'
import { effectiveVariableResource, setWorkspaceResource, variableSetResource } from './resource.ts'
import * as service from './service.ts'

// A set belongs to an organization or to a project.
const READ = [{ organization: 'variable-sets:read' }, { project: 'variable-sets:read' }] as const
const MANAGE = [{ organization: 'variable-sets:manage' }, { project: 'variable-sets:manage' }] as const

const q = text().describe('part of the name')
const SCOPE = oneOf(['owned'])
const LIST = { responses: { 200: pageOf(variableSetSchema) }, include: variableSetIncludes }
const ONE = { responses: { 200: documentOf(variableSetSchema) }, include: variableSetIncludes }

const LIST_OF_ORGANIZATION = {
  ...LIST,
  summary: 'List the variable sets of an organization',
  access: { organization: 'variable-sets:read' },
  query: {
    q,
    'filter[global]': boolean().describe('only global sets, or only the others'),
    scope: SCOPE.describe('`owned` leaves out the sets that projects own'),
  },
} as const

const LIST_OF_PROJECT = {
  ...LIST,
  summary: 'List the effective variable sets of a project',
  access: { project: 'project:read' },
  query: { q, scope: SCOPE.describe('`owned` for the sets that the project owns instead') },
} as const

const LISTS_OF_WORKSPACE = [
  {
    path: '/workspaces/:id/varsets',
    kind: 'workspace',
    summary: 'List the effective variable sets of a workspace',
  },
  {
    path: '/workspaces/:id/applicable-varsets',
    kind: 'applicable',
    summary: 'List the variable sets that can be applied to a workspace',
  },
] as const

const LIST_WORKSPACES = {
  summary: 'List the workspaces to which a variable set applies',
  access: READ,
  responses: { 200: pageOf(setWorkspaceSchema) },
  include: setWorkspaceIncludes,
  query: {
    q: text().describe('part of the name'),
    'filter[scope]': oneOf(SET_SCOPES).describe('how the set applies to the workspaces'),
  },
} as const

const CREATE = {
  summary: 'Create a variable set',
  access: MANAGE,
  audit: ['variable create', 'variable_set create'],
  responses: { 201: documentOf(variableSetSchema) },
  body: createVariableSetBody,
  include: variableSetIncludes,
} as const

const UPDATE = {
  ...ONE,
  summary: 'Update a variable set',
  access: MANAGE,
  audit: ['variable create', 'variable update', 'variable_set update'],
  body: updateVariableSetBody,
} as const

const DELETE = {
  summary: 'Delete a variable set',
  access: MANAGE,
  audit: 'variable_set destroy',
  responses: { 204: null },
} as const

export const variableSetRoutes: Routes = (http) => {
  http.get('/organizations/:organization/varsets', LIST_OF_ORGANIZATION, async (req) => {
    const { q, scope, 'filter[global]': global } = req.query
    const filter = { q, global, ownedByOrganization: scope === 'owned' }
    const sets = await service.listOrganizationSets(req.ctx, req.params.organization, { page: req.page(), filter })
    return req.list(sets, variableSetResource)
  })
  http.get('/projects/:id/varsets', LIST_OF_PROJECT, async (req) => {
    const { q, scope } = req.query
    const kind = scope === 'owned' ? 'owned' : 'project'
    const sets = await service.listProjectSets(req.ctx, req.params.id, { page: req.page(), filter: { q }, kind })
    return req.list(sets, variableSetResource)
  })
  for (const { path, kind, summary } of LISTS_OF_WORKSPACE) {
    http.get(path, { ...LIST, summary, access: { workspace: 'variables:read' }, query: { q } }, async (req) => {
      const { q } = req.query
      const sets = await service.listWorkspaceSets(req.ctx, req.params.id, { page: req.page(), filter: { q }, kind })
      return req.list(sets, variableSetResource)
    })
  }
  http.post('/organizations/:organization/varsets', CREATE, async (req) =>
    created(variableSetResource(await service.createVariableSet(req.ctx, req.params.organization, req.body.data))),
  )
  http.get('/varsets/:id', { ...ONE, summary: 'Show a variable set', access: READ }, async (req) =>
    ok(variableSetResource(await requireVariableSet(req.ctx, req.params.id, 'read'))),
  )
  http.get('/varsets/:id/effective-workspaces', LIST_WORKSPACES, async (req) => {
    const query = { page: req.page(), q: req.query.q, scope: req.query['filter[scope]'] }
    return req.list(await service.listSetWorkspaces(req.ctx, req.params.id, query), setWorkspaceResource)
  })
  // Both methods update a set (public documentation: variable sets).
  for (const method of ['patch', 'post'] as const) {
    http[method]('/varsets/:id', UPDATE, async (req) =>
      ok(variableSetResource(await service.updateVariableSet(req.ctx, req.params.id, req.body.data))),
    )
  }
  http.delete('/varsets/:id', DELETE, async (req) => service.deleteVariableSet(req.ctx, req.params.id))
}

export const variableSetLoaders: readonly Loader[] = [
  {
    of: 'varsets',
    relation: 'vars',
    load: async (ctx, sets) => {
      // The linkage of a set whose variables the actor may not read is empty.
      const ids = sets.flatMap(({ id, relationships }) => ([relationships?.['vars']?.data ?? []].flat()[0] ? id : []))
      const variables = Map.groupBy(await listVariablesOfSets(ctx.db, ids), (row) => row.variable_set_id)
      return new Map(ids.map((id) => [id, (variables.get(id) ?? []).map((row) => variableResource(row))]))
    },
  },
]

const SCOPE_CHANGES = [
  { method: 'post', change: 'add', kind: 'workspaces', summary: 'Apply a variable set to workspaces' },
  { method: 'delete', change: 'remove', kind: 'workspaces', summary: 'Remove a variable set from workspaces' },
  { method: 'post', change: 'add', kind: 'projects', summary: 'Apply a variable set to projects' },
  { method: 'delete', change: 'remove', kind: 'projects', summary: 'Remove a variable set from projects' },
] as const

export const variableSetScopeRoutes: Routes = (http) => {
  for (const { method, change, kind, summary } of SCOPE_CHANGES) {
    const audit = `variable_set ${change}_${kind}` as const
    const options = { summary, access: MANAGE, audit, body: identifiersBody(kind), responses: { 204: null } }
    http[method](`/varsets/:id/relationships/${kind}`, options, async (req) =>
      service.changeSetScope(req.ctx, req.params.id, { change, kind, identifiers: req.body.data }),
    )
  }
}

const VARIABLES = { responses: { 200: wholeListOf(variableSchema) } }
const VARIABLE = { responses: { 200: documentOf(variableSchema) } }

const LIST_VARIABLES = { ...VARIABLES, summary: 'List the variables of a variable set', access: READ } as const
const SHOW_VARIABLE = { ...VARIABLE, summary: 'Show a variable of a variable set', access: READ } as const
const CREATE_VARIABLE = {
  summary: 'Create a variable in a variable set',
  access: MANAGE,
  audit: 'variable create',
  responses: { 201: documentOf(variableSchema) },
  body: createVariableBody,
} as const
const UPDATE_VARIABLE = {
  ...VARIABLE,
  summary: 'Update a variable of a variable set',
  access: MANAGE,
  audit: 'variable update',
  body: updateVariableBody,
} as const
const DELETE_VARIABLE = {
  summary: 'Delete a variable of a variable set',
  access: MANAGE,
  audit: 'variable destroy',
  responses: { 204: null },
} as const

const LIST_EFFECTIVE = {
  ...VARIABLES,
  summary: 'List the effective variables of a workspace, including those of sets',
  access: { workspace: 'variables:read' },
  query: { overwritten: boolean().describe('our own: whether overwritten variables are listed too') },
} as const
const IN_WORKSPACE = [
  { workspace: 'variables:read', organization: 'variable-sets:read' },
  { workspace: 'variables:read', project: 'variable-sets:read' },
] as const
const LIST_IN_WORKSPACE = {
  ...VARIABLES,
  summary: 'List the variables of an effective set of a workspace',
  access: IN_WORKSPACE,
} as const
const SHOW_IN_WORKSPACE = {
  ...VARIABLE,
  summary: 'Show a variable of an effective set of a workspace',
  access: IN_WORKSPACE,
} as const

export const variableSetVariableRoutes: Routes = (http) => {
  http.get('/workspaces/:workspaceId/all-vars', LIST_EFFECTIVE, async (req) => {
    const all = req.query.overwritten ?? false
    const variables = await listAllWorkspaceVariables(req.ctx, req.params.workspaceId, { all })
    return listAll(variables.map(({ variable, overwrites }) => effectiveVariableResource(variable, overwrites)))
  })

  const path = '/varsets/:variableSetId/relationships/vars'
  http.get(path, LIST_VARIABLES, async (req) => {
    const variables = await service.listSetVariables(req.ctx, req.params.variableSetId)
    return listAll(variables.map((row) => variableResource(row)))
  })
  http.post(path, CREATE_VARIABLE, async (req) => {
    const variable = await service.createSetVariable(req.ctx, req.params.variableSetId, req.body.data.attributes)
    return created(variableResource(variable))
  })
  http.get(`${path}/:id`, SHOW_VARIABLE, async (req) =>
    ok(variableResource(await service.showSetVariable(req.ctx, req.params.variableSetId, req.params.id))),
  )
  http.patch(`${path}/:id`, UPDATE_VARIABLE, async (req) =>
    ok(variableResource(await service.updateSetVariable(req.ctx, req.params, req.body.data.attributes))),
  )
  http.delete(`${path}/:id`, DELETE_VARIABLE, async (req) => service.deleteSetVariable(req.ctx, req.params))

  const inWorkspace = '/workspaces/:workspaceId/varsets/:variableSetId/relationships/vars'
  http.get(inWorkspace, LIST_IN_WORKSPACE, async (req) => {
    const variables = await service.listSetVariablesIn(req.ctx, req.params.workspaceId, req.params.variableSetId)
    return listAll(variables.map(({ row, overwrites }) => variableResource(row, overwrites)))
  })
  http.get(`${inWorkspace}/:variableId`, SHOW_IN_WORKSPACE, async (req) => {
    const { row, overwrites } = await service.showSetVariableIn(req.ctx, req.params)
    return ok(variableResource(row, overwrites))
  })
}
