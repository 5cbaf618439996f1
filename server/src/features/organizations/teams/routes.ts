import { createTeamBody, teamMembershipsBody, teamUsersBody, updateTeamBody } from '@groundstate/contract/teams'
import type { Ctx } from '../../../app.ts'
import { created, listPage, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { readList, readText } from '../../../http/query.ts'
import { createTeam } from './create.ts'
import { deleteTeam } from './delete.ts'
import { updateTeam } from './update.ts'
import { TEAM_INCLUDES, teamDocuments } from './documents.ts'
import { addTeamMemberships, addTeamUsers, removeTeamMemberships, removeTeamUsers } from './change-members.ts'
import { listTeams } from './list.ts'
import { requireTeam } from './access.ts'
import type { Team } from './team.ts'

const USERS = '/teams/:teamId/relationships/users'
const MEMBERSHIPS = '/teams/:teamId/relationships/organization-memberships'

export const teamRoutes: Routes = (http) => {
  http.get('/organizations/:organization/teams', { include: TEAM_INCLUDES }, async (req) => {
    const page = req.page()
    const { rows, total } = await listTeams(req.ctx, req.params.organization, {
      page,
      names: readList(req.query, 'filter[names]'),
      q: readText(req.query, 'q'),
    })
    const { resources, included } = await teamDocuments(req.ctx, rows, req.includes)
    return listPage({ url: req.url, page }, { rows: resources, total }, included)
  })
  http.post('/organizations/:organization/teams', { body: createTeamBody }, async (req) => {
    const team = await createTeam(req.ctx, req.params.organization, req.body.data.attributes)
    return created((await document(req.ctx, team)).resource)
  })
  http.get('/teams/:teamId', { include: TEAM_INCLUDES }, async (req) => {
    const team = await requireTeam(req.ctx, req.params.teamId, 'team:read')
    const { resource, included } = await document(req.ctx, team, req.includes)
    return ok(resource, included)
  })
  http.patch('/teams/:teamId', { body: updateTeamBody }, async (req) => {
    const team = await updateTeam(req.ctx, req.params.teamId, req.body.data.attributes)
    return ok((await document(req.ctx, team)).resource)
  })
  http.delete('/teams/:teamId', async (req) => {
    await deleteTeam(req.ctx, req.params.teamId)
    return noContent()
  })

  http.post(USERS, { body: teamUsersBody }, async (req) => {
    await addTeamUsers(req.ctx, req.params.teamId, req.body.data)
    return noContent()
  })
  http.delete(USERS, { body: teamUsersBody }, async (req) => {
    await removeTeamUsers(req.ctx, req.params.teamId, req.body.data)
    return noContent()
  })
  http.post(MEMBERSHIPS, { body: teamMembershipsBody }, async (req) => {
    await addTeamMemberships(req.ctx, req.params.teamId, req.body.data)
    return noContent()
  })
  http.delete(MEMBERSHIPS, { body: teamMembershipsBody }, async (req) => {
    await removeTeamMemberships(req.ctx, req.params.teamId, req.body.data)
    return noContent()
  })
}

async function document(ctx: Ctx, team: Team, includes: ReadonlySet<string> = new Set()) {
  const { resources, included } = await teamDocuments(ctx, [team], includes)
  const [resource] = resources
  if (!resource) throw new Error('every team has a resource')
  return { resource, included }
}
