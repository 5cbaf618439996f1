import { createTeamProjectBody, updateTeamProjectBody } from '@groundstate/contract/teams'
import { invalidParameter } from '../../../errors.ts'
import { created, listAll, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readText } from '../../../http/query.ts'
import { teamProjectResource } from './resource.ts'
import {
  createTeamProject,
  deleteTeamProject,
  listTeamProjects,
  requireTeamProject,
  updateTeamProject,
} from './service.ts'

export const projectAccessRoutes: Routes = (http) => {
  http.get('/team-projects', async (req) => {
    const projectId = readText(req.query, 'filter[project][id]')
    if (projectId === undefined) {
      throw invalidParameter('filter[project][id] is missing: the id of a project', 'filter[project][id]')
    }
    // Without any paging the list comes whole, as in the public API.
    const isPaged = 'page[number]' in req.query || 'page[size]' in req.query
    const page = isPaged ? req.page() : undefined
    const teamId = readText(req.query, 'filter[team][id]')
    const { rows, total } = await listTeamProjects(req.ctx, { projectId, teamId, page })
    const resources = rows.map(teamProjectResource)
    return page ? listPage({ url: req.url, page }, { rows: resources, total }) : listAll(resources)
  })
  http.post('/team-projects', { body: createTeamProjectBody }, async (req) => {
    return created(teamProjectResource(await createTeamProject(req.ctx, req.body.data)))
  })
  http.get('/team-projects/:teamProjectId', async (req) => {
    return ok(teamProjectResource(await requireTeamProject(req.ctx, req.params.teamProjectId)))
  })
  http.patch('/team-projects/:teamProjectId', { body: updateTeamProjectBody }, async (req) => {
    const { teamProjectId } = req.params
    return ok(teamProjectResource(await updateTeamProject(req.ctx, teamProjectId, req.body.data.attributes)))
  })
  http.delete('/team-projects/:teamProjectId', async (req) => {
    await deleteTeamProject(req.ctx, req.params.teamProjectId)
    return noContent()
  })
}
