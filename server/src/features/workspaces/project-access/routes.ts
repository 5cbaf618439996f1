import { documentOf, pageOf, wholeListOf } from '@groundstate/contract/answers'
import { createTeamProjectBody, teamProjectSchema, updateTeamProjectBody } from '@groundstate/contract/teams'
import { z } from 'zod'
import { created, listAll, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { requiredText, text } from '../../../http/query.ts'
import { requireTeamProject } from './access.ts'
import { createTeamProject } from './create.ts'
import { deleteTeamProject } from './delete.ts'
import { listTeamProjects } from './list.ts'
import { teamProjectResource } from './resource.ts'
import { updateTeamProject } from './update.ts'

const LIST = {
  summary: 'List what teams may do to a project',
  answers: { 200: z.union([pageOf(teamProjectSchema), wholeListOf(teamProjectSchema)]) },
  query: {
    'filter[project][id]': requiredText('is missing: the id of a project').describe('required: the id of a project'),
    'filter[team][id]': text().describe('the id of a team'),
  },
}
const CREATE = {
  summary: 'Give a team access to a project',
  answers: { 201: documentOf(teamProjectSchema) },
  body: createTeamProjectBody,
}
const SHOW = { summary: 'Show what a team may do to a project', answers: { 200: documentOf(teamProjectSchema) } }
const UPDATE = {
  summary: 'Change what a team may do to a project',
  answers: { 200: documentOf(teamProjectSchema) },
  body: updateTeamProjectBody,
}
const DELETE = { summary: "Remove a team's access to a project", answers: { 204: null } }

export const projectAccessRoutes: Routes = (http) => {
  http.get('/team-projects', LIST, async (req) => {
    const { 'filter[project][id]': projectId, 'filter[team][id]': teamId } = req.query
    // Without page parameters the list is whole, as in the public API.
    const page = req.pageIfGiven()
    const { rows, total } = await listTeamProjects(req.ctx, { projectId, teamId, page })
    const resources = rows.map(teamProjectResource)
    return page ? listPage({ url: req.url, page }, { rows: resources, total }) : listAll(resources)
  })
  http.post('/team-projects', CREATE, async (req) => {
    return created(teamProjectResource(await createTeamProject(req.ctx, req.body.data)))
  })
  http.get('/team-projects/:teamProjectId', SHOW, async (req) => {
    return ok(teamProjectResource(await requireTeamProject(req.ctx, req.params.teamProjectId)))
  })
  http.patch('/team-projects/:teamProjectId', UPDATE, async (req) => {
    const { teamProjectId } = req.params
    return ok(teamProjectResource(await updateTeamProject(req.ctx, teamProjectId, req.body.data.attributes)))
  })
  http.delete('/team-projects/:teamProjectId', DELETE, async (req) => {
    await deleteTeamProject(req.ctx, req.params.teamProjectId)
    return noContent()
  })
}
