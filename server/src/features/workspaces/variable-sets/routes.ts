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
  addSetProjects,
  addSetWorkspaces,
  createVariableSet,
  deleteVariableSet,
  listOrganizationSets,
  listProjectSets,
  listWorkspaceSets,
  removeSetProjects,
  removeSetWorkspaces,
  updateVariableSet,
} from './service.ts'

// A set belongs to an organization or to a project.
const READ = [{ organization: 'variable-sets:read' }, { project: 'variable-sets:read' }] as const
const MANAGE = [{ organization: 'variable-sets:manage' }, { project: 'variable-sets:manage' }] as const

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

/** Lists of the sets of a workspace by their path. */
const OF_WORKSPACE = [
  {
    path: '/workspaces/:id/varsets',
    kind: 'workspace',
    summary: 'List the variable sets in force in a workspace',
    access: { workspace: 'variables:read' },
  },
  {
    path: '/workspaces/:id/applicable-varsets',
    kind: 'applicable',
    summary: 'List the variable sets that can be applied to a workspace',
    access: { workspace: 'variables:read' },
  },
] as const

export const variableSetRoutes: Routes = (http) => {
  http.get('/organizations/:organization/varsets', LIST_OF_ORGANIZATION, async (req) => {
    const page = req.page()
    const filter = {
      q: req.query.q,
      global: req.query['filter[global]'],
      ownedByOrganization: req.query.scope === 'owned',
    }
    const { rows, total } = await listOrganizationSets(req.ctx, req.params.organization, { page, filter })
    return req.list({ rows, total }, variableSetResource)
  })
  http.get('/projects/:id/varsets', LIST_OF_PROJECT, async (req) => {
    const kind = req.query.scope === 'owned' ? 'owned' : 'project'
    const filter = { q: req.query.q }
    const { rows, total } = await listProjectSets(req.ctx, req.params.id, { page: req.page(), filter, kind })
    return req.list({ rows, total }, variableSetResource)
  })
  for (const { path, kind, summary, access } of OF_WORKSPACE) {
    http.get(path, { ...LIST, summary, access, query: { q } }, async (req) => {
      const filter = { q: req.query.q }
      const { rows, total } = await listWorkspaceSets(req.ctx, req.params.id, { page: req.page(), filter, kind })
      return req.list({ rows, total }, variableSetResource)
    })
  }
  http.post('/organizations/:organization/varsets', CREATE, async (req) => {
    return created(variableSetResource(await createVariableSet(req.ctx, req.params.organization, req.body.data)))
  })
  http.get('/varsets/:id', { ...ONE, summary: 'Show a variable set', access: READ }, async (req) => {
    return ok(variableSetResource(await requireVariableSet(req.ctx, req.params.id, 'read')))
  })
  // Both methods change a set (public documentation: variable sets).
  for (const method of ['patch', 'post'] as const) {
    http[method]('/varsets/:id', UPDATE, async (req) => {
      return ok(variableSetResource(await updateVariableSet(req.ctx, req.params.id, req.body.data)))
    })
  }
  http.delete(
    '/varsets/:id',
    { summary: 'Delete a variable set', access: MANAGE, audit: 'variable_set destroy', responses: { 204: null } },
    async (req) => deleteVariableSet(req.ctx, req.params.id),
  )
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

// A set belongs to an organization or to a project.
const SCOPE_MANAGE = [{ organization: 'variable-sets:manage' }, { project: 'variable-sets:manage' }] as const

const WORKSPACES = { access: SCOPE_MANAGE, body: identifiersBody('workspaces'), responses: { 204: null } }
const PROJECTS = { access: SCOPE_MANAGE, body: identifiersBody('projects'), responses: { 204: null } }

/** The scope of variable sets. */
export const variableSetScopeRoutes: Routes = (http) => {
  const workspaces = '/varsets/:id/relationships/workspaces'
  http.post(
    workspaces,
    { ...WORKSPACES, summary: 'Apply a variable set to workspaces', audit: 'variable_set add_workspaces' },
    async (req) => addSetWorkspaces(req.ctx, req.params.id, req.body.data),
  )
  http.delete(
    workspaces,
    { ...WORKSPACES, summary: 'Remove a variable set from workspaces', audit: 'variable_set remove_workspaces' },
    async (req) => removeSetWorkspaces(req.ctx, req.params.id, req.body.data),
  )
  const projects = '/varsets/:id/relationships/projects'
  http.post(
    projects,
    { ...PROJECTS, summary: 'Apply a variable set to projects', audit: 'variable_set add_projects' },
    async (req) => addSetProjects(req.ctx, req.params.id, req.body.data),
  )
  http.delete(
    projects,
    { ...PROJECTS, summary: 'Remove a variable set from projects', audit: 'variable_set remove_projects' },
    async (req) => removeSetProjects(req.ctx, req.params.id, req.body.data),
  )
}
