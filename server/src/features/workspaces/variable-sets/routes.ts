import { identifiersBody } from '@groundstate/contract/json-api'
import { createVariableSetBody, updateVariableSetBody } from '@groundstate/contract/variable-sets'
import { createVariableBody, updateVariableBody } from '@groundstate/contract/variables'
import { created, listAll, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readBoolean, readText } from '../../../http/query.ts'
import {
  addSetProjects,
  addSetWorkspaces,
  createVariableSet,
  deleteVariableSet,
  removeSetProjects,
  removeSetWorkspaces,
  updateVariableSet,
} from './changes.ts'
import { included, INCLUDES } from './includes.ts'
import { variableSetResource } from './resource.ts'
import { listOrganizationSets, listProjectSets, listWorkspaceSets, requireVariableSet } from './service.ts'
import {
  createSetVariable,
  deleteSetVariable,
  listSetVariables,
  listSetVariablesIn,
  showSetVariable,
  showSetVariableIn,
  updateSetVariable,
} from './variables.ts'
import { variableResource } from '../variables/resource.ts'

export const variableSetRoutes: Routes = (http) => {
  http.get('/organizations/:organization/varsets', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const filter = {
      q: readText(req.query, 'q'),
      global: readBoolean(req.query, 'filter[global]'),
      ownedByOrganization: readText(req.query, 'scope') === 'owned',
    }
    const { rows, total } = await listOrganizationSets(req.ctx, req.params.organization, { page, filter })
    const list = { rows: rows.map(variableSetResource), total }
    return listPage({ url: req.url, page }, list, await included(req.ctx, rows, req.includes))
  })
  http.get('/projects/:id/varsets', { include: INCLUDES }, async (req) => {
    const page = req.page()
    const kind = readText(req.query, 'scope') === 'owned' ? 'owned' : 'project'
    const filter = { q: readText(req.query, 'q') }
    const { rows, total } = await listProjectSets(req.ctx, req.params.id, { page, filter, kind })
    const list = { rows: rows.map(variableSetResource), total }
    return listPage({ url: req.url, page }, list, await included(req.ctx, rows, req.includes))
  })
  for (const [path, kind] of [
    ['/workspaces/:id/varsets', 'workspace'],
    ['/workspaces/:id/applicable-varsets', 'applicable'],
  ] as const) {
    http.get(path, { include: INCLUDES }, async (req) => {
      const page = req.page()
      const filter = { q: readText(req.query, 'q') }
      const { rows, total } = await listWorkspaceSets(req.ctx, req.params.id, { page, filter, kind })
      const list = { rows: rows.map(variableSetResource), total }
      return listPage({ url: req.url, page }, list, await included(req.ctx, rows, req.includes))
    })
  }
  http.post('/organizations/:organization/varsets', { body: createVariableSetBody, include: INCLUDES }, async (req) => {
    const set = await createVariableSet(req.ctx, req.params.organization, req.body.data)
    return created(variableSetResource(set), await included(req.ctx, [set], req.includes))
  })
  http.get('/varsets/:id', { include: INCLUDES }, async (req) => {
    const set = await requireVariableSet(req.ctx, req.params.id, 'read')
    return ok(variableSetResource(set), await included(req.ctx, [set], req.includes))
  })
  // Both methods change a set (public documentation: variable sets).
  for (const method of ['patch', 'post'] as const) {
    http[method]('/varsets/:id', { body: updateVariableSetBody, include: INCLUDES }, async (req) => {
      const set = await updateVariableSet(req.ctx, req.params.id, req.body.data)
      return ok(variableSetResource(set), await included(req.ctx, [set], req.includes))
    })
  }
  http.delete('/varsets/:id', async (req) => {
    await deleteVariableSet(req.ctx, req.params.id)
    return noContent()
  })
}

/** Where sets apply. */
export const variableSetScopeRoutes: Routes = (http) => {
  const workspaces = { body: identifiersBody('workspaces') }
  const projects = { body: identifiersBody('projects') }
  http.post('/varsets/:id/relationships/workspaces', workspaces, async (req) => {
    await addSetWorkspaces(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
  http.delete('/varsets/:id/relationships/workspaces', workspaces, async (req) => {
    await removeSetWorkspaces(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
  http.post('/varsets/:id/relationships/projects', projects, async (req) => {
    await addSetProjects(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
  http.delete('/varsets/:id/relationships/projects', projects, async (req) => {
    await removeSetProjects(req.ctx, req.params.id, req.body.data)
    return noContent()
  })
}

/** What sets hold. */
export const variableSetVariableRoutes: Routes = (http) => {
  const path = '/varsets/:variableSetId/relationships/vars'
  http.get(path, async (req) => {
    return listAll((await listSetVariables(req.ctx, req.params.variableSetId)).map((row) => variableResource(row)))
  })
  http.post(path, { body: createVariableBody }, async (req) => {
    const variable = await createSetVariable(req.ctx, req.params.variableSetId, req.body.data.attributes)
    return created(variableResource(variable))
  })
  http.get(`${path}/:id`, async (req) => {
    return ok(variableResource(await showSetVariable(req.ctx, req.params.variableSetId, req.params.id)))
  })
  http.patch(`${path}/:id`, { body: updateVariableBody }, async (req) => {
    return ok(variableResource(await updateSetVariable(req.ctx, req.params, req.body.data.attributes)))
  })
  const inWorkspace = '/workspaces/:workspaceId/varsets/:variableSetId/relationships/vars'
  http.get(inWorkspace, async (req) => {
    const { workspaceId, variableSetId } = req.params
    const variables = await listSetVariablesIn(req.ctx, workspaceId, variableSetId)
    return listAll(variables.map(({ row, overwrites }) => variableResource(row, overwrites)))
  })
  http.get(`${inWorkspace}/:variableId`, async (req) => {
    const { row, overwrites } = await showSetVariableIn(req.ctx, req.params)
    return ok(variableResource(row, overwrites))
  })
  http.delete(`${path}/:id`, async (req) => {
    await deleteSetVariable(req.ctx, req.params)
    return noContent()
  })
}
