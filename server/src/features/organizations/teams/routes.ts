import { teamIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/teams'
import type { Routes } from '../../../http/http.ts'
import type { Loader } from '../../../http/loaders.ts'
import { text, textList } from '../../../http/query.ts'
import { created, ok } from '../../../http/responses.ts'
import { listReadableTeams, requireTeam } from './access.ts'
import * as service from './service.ts'

const OF_ORGANIZATION = '/organizations/:organization/teams'
const ONE = '/teams/:teamId'
const TEAM = { 200: documentOf(contract.teamSchema) }

export const teamRoutes: Routes = (http) => {
  http.get(
    OF_ORGANIZATION,
    {
      summary: 'List the teams of an organization',
      access: { organization: 'organization:read' },
      responses: { 200: pageOf(contract.teamSchema) },
      include: teamIncludes,
      query: { 'filter[names]': textList().describe('names'), q: text().describe('part of the name') },
    },
    async (req) => {
      const { 'filter[names]': names, q } = req.query
      const { rows, total } = await service.listTeams(req.ctx, req.params.organization, { page: req.page(), names, q })
      return req.list({ rows: await service.showTeams(req.ctx, rows), total })
    },
  )
  http.post(
    OF_ORGANIZATION,
    {
      summary: 'Create a team',
      access: { organization: 'teams:manage' },
      audit: 'team create',
      responses: { 201: documentOf(contract.teamSchema) },
      body: contract.createTeamBody,
    },
    async ({ ctx, params, body }) =>
      created(await service.showTeam(ctx, await service.createTeam(ctx, params.organization, body.data.attributes))),
  )
  http.get(
    ONE,
    { summary: 'Show a team', access: { team: 'team:read' }, responses: TEAM, include: teamIncludes },
    async ({ ctx, params }) => ok(await service.showTeam(ctx, await requireTeam(ctx, params.teamId, 'team:read'))),
  )
  http.patch(
    ONE,
    {
      summary: 'Update a team',
      access: [{ team: 'team:update' }, { team: 'organization-access:update' }],
      audit: 'team update',
      responses: TEAM,
      body: contract.updateTeamBody,
    },
    async ({ ctx, params, body }) =>
      ok(await service.showTeam(ctx, await service.updateTeam(ctx, params.teamId, body.data.attributes))),
  )
  http.delete(
    ONE,
    { summary: 'Delete a team', access: { team: 'team:delete' }, audit: 'team destroy', responses: { 204: null } },
    async (req) => service.deleteTeam(req.ctx, req.params.teamId),
  )
  for (const [relation, noun, body] of [
    ['users', 'users', contract.teamUsersBody],
    ['organization-memberships', 'organization memberships', contract.teamMembershipsBody],
  ] as const) {
    const options = { access: { team: 'members:manage' }, responses: { 204: null }, body } as const
    http.post(
      `${ONE}/relationships/${relation}`,
      { ...options, summary: `Add ${noun} to a team`, audit: 'team add_member' },
      async (req) => service.addTeamMembers(req.ctx, req.params.teamId, req.body.data),
    )
    http.delete(
      `${ONE}/relationships/${relation}`,
      { ...options, summary: `Remove ${noun} from a team`, audit: 'team remove_member' },
      async (req) => service.removeTeamMembers(req.ctx, req.params.teamId, req.body.data),
    )
  }
}

export const teamLoaders: readonly Loader[] = [
  { type: 'teams', load: async (ctx, ids) => service.showTeams(ctx, await listReadableTeams(ctx, ids)) },
]
