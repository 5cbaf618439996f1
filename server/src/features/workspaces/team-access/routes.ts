import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/answers'
import { createTeamWorkspaceBody, teamWorkspaceSchema, updateTeamWorkspaceBody } from '@groundstate/contract/teams'
import { z } from 'zod'
import { created, listAll, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { requiredText, text } from '../../../http/query.ts'
import { requireTeamWorkspace } from './access.ts'
import { createTeamWorkspace } from './create.ts'
import { deleteTeamWorkspace } from './delete.ts'
import { listTeamWorkspaces } from './list.ts'
import { teamWorkspaceResource } from './resource.ts'
import { updateTeamWorkspace } from './update.ts'

const LIST = {
  summary: 'List what teams may do to a workspace',
  answers: { 200: z.union([pageOf(teamWorkspaceSchema), wholeListOf(teamWorkspaceSchema)]) },
  query: {
    'filter[workspace][id]': requiredText('is missing: the id of a workspace').describe(
      'required: the id of a workspace',
    ),
    'filter[team][id]': text().describe('the id of a team'),
  },
}
const CREATE = {
  summary: 'Give a team access to a workspace',
  answers: { 201: documentOf(teamWorkspaceSchema) },
  body: createTeamWorkspaceBody,
}
const SHOW = { summary: 'Show what a team may do to a workspace', answers: { 200: documentOf(teamWorkspaceSchema) } }
const UPDATE = {
  summary: 'Change what a team may do to a workspace',
  answers: { 200: documentOf(teamWorkspaceSchema) },
  body: updateTeamWorkspaceBody,
}
const DELETE = { summary: "Remove a team's access to a workspace", answers: { 204: null } }

export const teamAccessRoutes: Routes = (http) => {
  http.get('/team-workspaces', LIST, async (req) => {
    const { 'filter[workspace][id]': workspaceId, 'filter[team][id]': teamId } = req.query
    // Without page parameters the list is whole, as in the public API.
    const page = req.pageIfGiven()
    const { rows, total } = await listTeamWorkspaces(req.ctx, { workspaceId, teamId, page })
    const resources = rows.map(teamWorkspaceResource)
    return page ? listPage({ url: req.url, page }, { rows: resources, total }) : listAll(resources)
  })
  http.post('/team-workspaces', CREATE, async (req) => {
    return created(teamWorkspaceResource(await createTeamWorkspace(req.ctx, req.body.data)))
  })
  http.get('/team-workspaces/:teamWorkspaceId', SHOW, async (req) => {
    return ok(teamWorkspaceResource(await requireTeamWorkspace(req.ctx, req.params.teamWorkspaceId)))
  })
  http.patch('/team-workspaces/:teamWorkspaceId', UPDATE, async (req) => {
    const { teamWorkspaceId } = req.params
    return ok(teamWorkspaceResource(await updateTeamWorkspace(req.ctx, teamWorkspaceId, req.body.data.attributes)))
  })
  http.delete('/team-workspaces/:teamWorkspaceId', DELETE, async (req) => {
    await deleteTeamWorkspace(req.ctx, req.params.teamWorkspaceId)
    return noContent()
  })
}
