import { teamIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import {
  createTeamBody,
  teamMembershipsBody,
  teamSchema,
  teamUsersBody,
  updateTeamBody,
} from '@groundstate/contract/teams'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text, textList } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { listReadableTeams, requireTeam } from './access.ts'
import { addTeamMemberships, addTeamUsers, removeTeamMemberships, removeTeamUsers } from './members.ts'
import { createTeam, deleteTeam, listTeams, showTeam, showTeams, updateTeam } from './service.ts'

const LIST = {
  summary: 'List the teams of an organization',
  access: { organization: 'organization:read' },
  responses: { 200: pageOf(teamSchema) },
  include: teamIncludes,
  query: {
    'filter[names]': textList().describe('names'),
    q: text().describe('part of the name'),
  },
} as const
const CREATE = {
  summary: 'Create a team',
  access: { organization: 'teams:manage' },
  audit: 'team create',
  responses: { 201: documentOf(teamSchema) },
  body: createTeamBody,
} as const
const SHOW = {
  summary: 'Show a team',
  access: { team: 'team:read' },
  responses: { 200: documentOf(teamSchema) },
  include: teamIncludes,
} as const
const UPDATE = {
  summary: 'Update a team',
  access: [{ team: 'team:update' }, { team: 'organization-access:update' }],
  audit: 'team update',
  responses: { 200: documentOf(teamSchema) },
  body: updateTeamBody,
} as const
const DELETE = {
  summary: 'Delete a team',
  access: { team: 'team:delete' },
  audit: 'team destroy',
  responses: { 204: null },
} as const

export const teamRoutes: Routes = (http) => {
  http.get('/organizations/:organization/teams', LIST, async (req) => {
    const { rows, total } = await listTeams(req.ctx, req.params.organization, {
      page: req.page(),
      names: req.query['filter[names]'],
      q: req.query.q,
    })
    return req.list({ rows: await showTeams(req.ctx, rows), total })
  })
  http.post('/organizations/:organization/teams', CREATE, async (req) => {
    const team = await createTeam(req.ctx, req.params.organization, req.body.data.attributes)
    return created(await showTeam(req.ctx, team))
  })
  http.get('/teams/:teamId', SHOW, async (req) => {
    return ok(await showTeam(req.ctx, await requireTeam(req.ctx, req.params.teamId, 'team:read')))
  })
  http.patch('/teams/:teamId', UPDATE, async (req) => {
    return ok(await showTeam(req.ctx, await updateTeam(req.ctx, req.params.teamId, req.body.data.attributes)))
  })
  http.delete('/teams/:teamId', DELETE, async (req) => deleteTeam(req.ctx, req.params.teamId))
  registerMembers(http)
}

const USERS = '/teams/:teamId/relationships/users'
const MEMBERSHIPS = '/teams/:teamId/relationships/organization-memberships'

const registerMembers: Routes = (http) => {
  http.post(
    USERS,
    {
      summary: 'Add users to a team',
      access: { team: 'members:manage' },
      audit: 'team add_member',
      responses: { 204: null },
      body: teamUsersBody,
    },
    async (req) => addTeamUsers(req.ctx, req.params.teamId, req.body.data),
  )
  http.delete(
    USERS,
    {
      summary: 'Remove users from a team',
      access: { team: 'members:manage' },
      audit: 'team remove_member',
      responses: { 204: null },
      body: teamUsersBody,
    },
    async (req) => removeTeamUsers(req.ctx, req.params.teamId, req.body.data),
  )
  http.post(
    MEMBERSHIPS,
    {
      summary: 'Add organization memberships to a team',
      access: { team: 'members:manage' },
      audit: 'team add_member',
      responses: { 204: null },
      body: teamMembershipsBody,
    },
    async (req) => addTeamMemberships(req.ctx, req.params.teamId, req.body.data),
  )
  http.delete(
    MEMBERSHIPS,
    {
      summary: 'Remove organization memberships from a team',
      access: { team: 'members:manage' },
      audit: 'team remove_member',
      responses: { 204: null },
      body: teamMembershipsBody,
    },
    async (req) => removeTeamMemberships(req.ctx, req.params.teamId, req.body.data),
  )
}

export const teamLoaders: readonly Loader[] = [
  { type: 'teams', load: async (ctx, ids) => showTeams(ctx, await listReadableTeams(ctx, ids)) },
]
