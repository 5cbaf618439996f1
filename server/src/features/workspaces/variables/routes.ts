import {
  createLegacyVariableBody,
  createVariableBody,
  updateVariableBody,
  updateVariablesBody,
} from '@groundstate/contract/variables'
import { created, listAll, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { listAllWorkspaceVariables } from './resolve.ts'
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

/** Lists are whole: the command lines read the first page only. */
export const variableRoutes: Routes = (http) => {
  http.get('/workspaces/:workspaceId/vars', async (req) => {
    return listAll((await listWorkspaceVariables(req.ctx, req.params.workspaceId)).map((row) => variableResource(row)))
  })
  http.get('/workspaces/:workspaceId/all-vars', async (req) => {
    return listAll(
      (await listAllWorkspaceVariables(req.ctx, req.params.workspaceId)).map((row) => variableResource(row)),
    )
  })
  http.post('/workspaces/:workspaceId/vars', { body: createVariableBody }, async (req) => {
    return created(
      variableResource(await createWorkspaceVariable(req.ctx, req.params.workspaceId, req.body.data.attributes)),
    )
  })
  http.get('/workspaces/:workspaceId/vars/:id', async (req) => {
    return ok(variableResource(await showWorkspaceVariable(req.ctx, req.params.workspaceId, req.params.id)))
  })
  http.patch('/workspaces/:workspaceId/vars/:id', { body: updateVariableBody }, async (req) => {
    return ok(variableResource(await updateWorkspaceVariable(req.ctx, req.params, req.body.data.attributes)))
  })
  http.delete('/workspaces/:workspaceId/vars/:id', async (req) => {
    await deleteWorkspaceVariable(req.ctx, req.params)
    return noContent()
  })

  http.patch('/workspaces/:workspaceId/relationships/vars', { body: updateVariablesBody }, async (req) => {
    await updateWorkspaceVariables(req.ctx, req.params.workspaceId, req.body.data)
    return noContent()
  })

  http.get('/vars', async (req) => {
    const variables = await listVariablesByNames(req.ctx, {
      organization: readText(req.query, 'filter[organization][name]'),
      workspace: readText(req.query, 'filter[workspace][name]'),
    })
    return listAll(variables.map((row) => variableResource(row)))
  })
  http.post('/vars', { body: createLegacyVariableBody }, async (req) => {
    const { attributes, relationships } = req.body.data
    return created(
      variableResource(await createWorkspaceVariable(req.ctx, relationships.workspace.data.id, attributes)),
    )
  })
  http.patch('/vars/:id', { body: updateVariableBody }, async (req) => {
    return ok(variableResource(await updateWorkspaceVariable(req.ctx, req.params, req.body.data.attributes)))
  })
  http.delete('/vars/:id', async (req) => {
    await deleteWorkspaceVariable(req.ctx, req.params)
    return noContent()
  })
}
