import { variableSetIncludes } from '@groundstate/contract/includes'
import { identifiersBody } from '@groundstate/contract/json-api'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createVariableSetBody, updateVariableSetBody, variableSetSchema } from '@groundstate/contract/variable-sets'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { boolean, text } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { variableResource } from '../variables/resource.ts'
import { listVariablesOfSets } from '../variables/store.ts'
import { requireVariableSet } from './access.ts'
import { variableSetResource } from './resource.ts'
import {
  changeSetScope,
  createVariableSet,
  deleteVariableSet,
  listOrganizationSets,
  listProjectSets,
  listWorkspaceSets,
  updateVariableSet,
} from './service.ts'

// A set belongs to an organization or to a project.
export const READ = [{ organization: 'variable-sets:read' }, { project: 'variable-sets:read' }] as const
export const MANAGE = [{ organization: 'variable-sets:manage' }, { project: 'variable-sets:manage' }] as const

const q = text().describe('part of the name')
const LIST = { responses: { 200: pageOf(variableSetSchema) }, include: variableSetIncludes }
const ONE = { responses: { 200: documentOf(variableSetSchema) }, include: variableSetIncludes }

const LIST_OF_ORGANIZATION = {
  ...LIST,
  summary: 'List the variable sets of an organization',
  access: { organization: 'variable-sets:read' },
  query: {
    q,
    'filter[global]': boolean().describe('only global sets, or only the others'),
    scope: text().describe('`owned` leaves out the sets that projects own'),
  },
} as const

const LIST_OF_PROJECT = {
  ...LIST,
  summary: 'List the variable sets in force in a project',
  access: { project: 'project:read' },
  query: { q, scope: text().describe('`owned` for the sets that the project owns instead') },
} as const

const LISTS_OF_WORKSPACE = [
  {
    path: '/workspaces/:id/varsets',
    kind: 'workspace',
    summary: 'List the variable sets in force in a workspace',
  },
  {
    path: '/workspaces/:id/applicable-varsets',
    kind: 'applicable',
    summary: 'List the variable sets that can be applied to a workspace',
  },
] as const

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
    const sets = await listOrganizationSets(req.ctx, req.params.organization, { page: req.page(), filter })
    return req.list(sets, variableSetResource)
  })
  http.get('/projects/:id/varsets', LIST_OF_PROJECT, async (req) => {
    const { q, scope } = req.query
    const kind = scope === 'owned' ? 'owned' : 'project'
    const sets = await listProjectSets(req.ctx, req.params.id, { page: req.page(), filter: { q }, kind })
    return req.list(sets, variableSetResource)
  })
  for (const { path, kind, summary } of LISTS_OF_WORKSPACE) {
    http.get(path, { ...LIST, summary, access: { workspace: 'variables:read' }, query: { q } }, async (req) => {
      const { q } = req.query
      const sets = await listWorkspaceSets(req.ctx, req.params.id, { page: req.page(), filter: { q }, kind })
      return req.list(sets, variableSetResource)
    })
  }
  http.post('/organizations/:organization/varsets', CREATE, async (req) =>
    created(variableSetResource(await createVariableSet(req.ctx, req.params.organization, req.body.data))),
  )
  http.get('/varsets/:id', { ...ONE, summary: 'Show a variable set', access: READ }, async (req) =>
    ok(variableSetResource(await requireVariableSet(req.ctx, req.params.id, 'read'))),
  )
  // Both methods update a set (public documentation: variable sets).
  for (const method of ['patch', 'post'] as const) {
    http[method]('/varsets/:id', UPDATE, async (req) =>
      ok(variableSetResource(await updateVariableSet(req.ctx, req.params.id, req.body.data))),
    )
  }
  http.delete('/varsets/:id', DELETE, async (req) => deleteVariableSet(req.ctx, req.params.id))
}

export const variableSetLoaders: readonly Loader[] = [
  {
    of: 'varsets',
    relation: 'vars',
    load: async (ctx, sets) => {
      const ids = sets.map(({ id }) => id)
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
      changeSetScope(req.ctx, req.params.id, { change, kind, identifiers: req.body.data }),
    )
  }
}
