import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import { createVariableBody, updateVariableBody, variableSchema } from '@groundstate/contract/variables'
import type { Routes } from '../../../http/http.ts'
import { boolean } from '../../../http/query.ts'
import { created, listAll, ok } from '../../../http/responses.ts'
import { variableResource } from '../variables/resource.ts'
import { listAllWorkspaceVariables } from './effective-variables.ts'
import { effectiveVariableResource } from './resource.ts'
import { MANAGE, READ } from './routes.ts'
import {
  createSetVariable,
  deleteSetVariable,
  listSetVariables,
  listSetVariablesIn,
  showSetVariable,
  showSetVariableIn,
  updateSetVariable,
} from './variables.ts'

const LIST = { responses: { 200: wholeListOf(variableSchema) } }
const ONE = { responses: { 200: documentOf(variableSchema) } }

const LIST_OF_SET = { ...LIST, summary: 'List the variables of a variable set', access: READ } as const
const SHOW = { ...ONE, summary: 'Show a variable of a variable set', access: READ } as const
const CREATE = {
  summary: 'Create a variable in a variable set',
  access: MANAGE,
  audit: 'variable create',
  responses: { 201: documentOf(variableSchema) },
  body: createVariableBody,
} as const
const UPDATE = {
  ...ONE,
  summary: 'Update a variable of a variable set',
  access: MANAGE,
  audit: 'variable update',
  body: updateVariableBody,
} as const
const DELETE = {
  summary: 'Delete a variable of a variable set',
  access: MANAGE,
  audit: 'variable destroy',
  responses: { 204: null },
} as const

const LIST_EFFECTIVE = {
  ...LIST,
  summary: 'List the variables in force in a workspace, those of sets included',
  access: { workspace: 'variables:read' },
  query: { overwritten: boolean().describe('our own: whether those that are overwritten are listed too') },
} as const
const IN_WORKSPACE = [
  { workspace: 'variables:read', organization: 'variable-sets:read' },
  { workspace: 'variables:read', project: 'variable-sets:read' },
] as const
const LIST_IN_WORKSPACE = {
  ...LIST,
  summary: 'List the variables of a set in force in a workspace',
  access: IN_WORKSPACE,
} as const
const SHOW_IN_WORKSPACE = {
  ...ONE,
  summary: 'Show a variable of a set in force in a workspace',
  access: IN_WORKSPACE,
} as const

export const variableSetVariableRoutes: Routes = (http) => {
  http.get('/workspaces/:workspaceId/all-vars', LIST_EFFECTIVE, async (req) => {
    const all = req.query.overwritten ?? false
    const variables = await listAllWorkspaceVariables(req.ctx, req.params.workspaceId, { all })
    return listAll(variables.map(({ variable, overwrites }) => effectiveVariableResource(variable, overwrites)))
  })

  const path = '/varsets/:variableSetId/relationships/vars'
  http.get(path, LIST_OF_SET, async (req) => {
    const variables = await listSetVariables(req.ctx, req.params.variableSetId)
    return listAll(variables.map((row) => variableResource(row)))
  })
  http.post(path, CREATE, async (req) => {
    const variable = await createSetVariable(req.ctx, req.params.variableSetId, req.body.data.attributes)
    return created(variableResource(variable))
  })
  http.get(`${path}/:id`, SHOW, async (req) =>
    ok(variableResource(await showSetVariable(req.ctx, req.params.variableSetId, req.params.id))),
  )
  http.patch(`${path}/:id`, UPDATE, async (req) =>
    ok(variableResource(await updateSetVariable(req.ctx, req.params, req.body.data.attributes))),
  )
  http.delete(`${path}/:id`, DELETE, async (req) => deleteSetVariable(req.ctx, req.params))

  const inWorkspace = '/workspaces/:workspaceId/varsets/:variableSetId/relationships/vars'
  http.get(inWorkspace, LIST_IN_WORKSPACE, async (req) => {
    const variables = await listSetVariablesIn(req.ctx, req.params.workspaceId, req.params.variableSetId)
    return listAll(variables.map(({ row, overwrites }) => variableResource(row, overwrites)))
  })
  http.get(`${inWorkspace}/:variableId`, SHOW_IN_WORKSPACE, async (req) => {
    const { row, overwrites } = await showSetVariableIn(req.ctx, req.params)
    return ok(variableResource(row, overwrites))
  })
}
