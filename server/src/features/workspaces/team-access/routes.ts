import { createTeamWorkspaceBody, updateTeamWorkspaceBody } from '@groundstate/contract/teams'
import { invalidParameter } from '../../../errors.ts'
import { created, listAll, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { teamWorkspaceResource } from './resource.ts'
import {
  createTeamWorkspace,
  deleteTeamWorkspace,
  listTeamWorkspaces,
  requireTeamWorkspace,
  updateTeamWorkspace,
} from './service.ts'

export const teamAccessRoutes: Routes = (http) => {
  http.get('/team-workspaces', async (req) => {
    const workspaceId = readText(req.query, 'filter[workspace][id]')
    if (workspaceId === undefined) {
      throw invalidParameter('filter[workspace][id] is missing: the id of a workspace', 'filter[workspace][id]')
    }
    // Without any paging the list comes whole, as in the public API.
    const isPaged = 'page[number]' in req.query || 'page[size]' in req.query
    const page = isPaged ? req.page() : undefined
    const teamId = readText(req.query, 'filter[team][id]')
    const { rows, total } = await listTeamWorkspaces(req.ctx, { workspaceId, teamId, page })
    const resources = rows.map(teamWorkspaceResource)
    return page ? listPage({ url: req.url, page }, { rows: resources, total }) : listAll(resources)
  })
  http.post('/team-workspaces', { body: createTeamWorkspaceBody }, async (req) => {
    return created(teamWorkspaceResource(await createTeamWorkspace(req.ctx, req.body.data)))
  })
  http.get('/team-workspaces/:teamWorkspaceId', async (req) => {
    return ok(teamWorkspaceResource(await requireTeamWorkspace(req.ctx, req.params.teamWorkspaceId)))
  })
  http.patch('/team-workspaces/:teamWorkspaceId', { body: updateTeamWorkspaceBody }, async (req) => {
    const { teamWorkspaceId } = req.params
    return ok(teamWorkspaceResource(await updateTeamWorkspace(req.ctx, teamWorkspaceId, req.body.data.attributes)))
  })
  http.delete('/team-workspaces/:teamWorkspaceId', async (req) => {
    await deleteTeamWorkspace(req.ctx, req.params.teamWorkspaceId)
    return noContent()
  })
}
