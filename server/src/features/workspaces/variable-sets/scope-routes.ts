import { identifiersBody } from '@groundstate/contract/json-api'
import type { Routes } from '../../../http/http.ts'
import { noContent } from '../../../http/responses.ts'
import { addSetProjects, addSetWorkspaces, removeSetProjects, removeSetWorkspaces } from './change-scope.ts'

// A set belongs to an organization or to a project.
const MANAGE = [{ organization: 'variable-sets:manage' }, { project: 'variable-sets:manage' }] as const

const WORKSPACES = { access: MANAGE, body: identifiersBody('workspaces'), responses: { 204: null } }
const PROJECTS = { access: MANAGE, body: identifiersBody('projects'), responses: { 204: null } }

/** Where sets apply. */
export const variableSetScopeRoutes: Routes = (http) => {
  const workspaces = '/varsets/:id/relationships/workspaces'
  http.post(
    workspaces,
    { ...WORKSPACES, summary: 'Apply a variable set to workspaces', audit: 'variable_set add_workspaces' },
    async (req) => {
      await addSetWorkspaces(req.ctx, req.params.id, req.body.data)
      return noContent()
    },
  )
  http.delete(
    workspaces,
    { ...WORKSPACES, summary: 'Remove a variable set from workspaces', audit: 'variable_set remove_workspaces' },
    async (req) => {
      await removeSetWorkspaces(req.ctx, req.params.id, req.body.data)
      return noContent()
    },
  )
  const projects = '/varsets/:id/relationships/projects'
  http.post(
    projects,
    { ...PROJECTS, summary: 'Apply a variable set to projects', audit: 'variable_set add_projects' },
    async (req) => {
      await addSetProjects(req.ctx, req.params.id, req.body.data)
      return noContent()
    },
  )
  http.delete(
    projects,
    { ...PROJECTS, summary: 'Remove a variable set from projects', audit: 'variable_set remove_projects' },
    async (req) => {
      await removeSetProjects(req.ctx, req.params.id, req.body.data)
      return noContent()
    },
  )
}
