import { deleteTokensBody } from '@groundstate/contract/tokens'
import type { Routes } from '../../../http/http.ts'
import { type Query, oneOf, sortBy, text } from '../../../http/query.ts'
import { ok } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { CREATE_TOKEN, DELETE_TOKEN, LIST_TOKENS, SHOW_TOKEN, createdToken } from '../../identity/tokens/routes.ts'
import * as service from './service.ts'
import { TEAM_TOKEN_SORTS } from './store.ts'

const LEGACY = '/teams/:teamId/authentication-token'
const NAMED = '/teams/:teamId/authentication-tokens'
const OF_ORGANIZATION = '/organizations/:organizationName/team-tokens'

const EXPIRY_STATUSES = ['expired', 'active', 'never'] as const

const among = (values: readonly string[]) => (value: string) => `is ${value}, it must be among ${values.join(', ')}`

const LIST_QUERY = {
  q: text().describe('part of the team name or of the description'),
  'filter[expiry_status]': oneOf(EXPIRY_STATUSES, among(EXPIRY_STATUSES)),
  sort: sortBy(TEAM_TOKEN_SORTS, '-created-at', among(TEAM_TOKEN_SORTS)).describe(
    'descending with a - before it; -created-at when absent',
  ),
}
const OF_TEAM = { access: { team: 'tokens:manage' } } as const

export const teamTokenRoutes: Routes = (http) => {
  http.get(LEGACY, { ...SHOW_TOKEN, ...OF_TEAM, summary: 'Show the legacy token of a team' }, async (req) =>
    ok(tokenResource(await service.showLegacyTeamToken(req.ctx, req.params.teamId))),
  )
  http.post(LEGACY, { ...CREATE_TOKEN, ...OF_TEAM, summary: 'Create the legacy token of a team' }, async (req) =>
    createdToken(await service.createLegacyTeamToken(req.ctx, req.params.teamId, req.body)),
  )
  http.delete(LEGACY, { ...DELETE_TOKEN, ...OF_TEAM, summary: 'Delete the legacy token of a team' }, async (req) =>
    service.deleteLegacyTeamToken(req.ctx, req.params.teamId),
  )
  http.get(
    NAMED,
    { ...LIST_TOKENS, ...OF_TEAM, summary: 'List the tokens of a team', query: LIST_QUERY },
    async (req) => {
      const query = { page: req.page(), ...tokenQuery(req.query) }
      return req.list(await service.listTokensOfTeam(req.ctx, req.params.teamId, query), tokenResource)
    },
  )
  http.post(NAMED, { ...CREATE_TOKEN, ...OF_TEAM, summary: 'Create a token of a team' }, async (req) =>
    createdToken(await service.createTeamToken(req.ctx, req.params.teamId, req.body)),
  )
  http.get(
    OF_ORGANIZATION,
    {
      ...LIST_TOKENS,
      summary: 'List the team tokens of an organization',
      access: { organization: 'organization:read' },
      query: LIST_QUERY,
    },
    async (req) => {
      const query = { page: req.page(), ...tokenQuery(req.query) }
      return req.list(await service.listTeamTokens(req.ctx, req.params.organizationName, query), tokenResource)
    },
  )
  http.delete(
    OF_ORGANIZATION,
    {
      ...DELETE_TOKEN,
      summary: 'Delete team tokens of an organization',
      access: { organization: 'tokens:manage' },
      body: deleteTokensBody,
    },
    async ({ ctx, params, body }) => {
      const ids = body.data.map((token) => token.id)
      await service.deleteTeamTokens(ctx, params.organizationName, ids)
    },
  )
}

function tokenQuery({ q, sort, 'filter[expiry_status]': expiry }: Query<typeof LIST_QUERY>) {
  return { q, expiry, sort: sort.name, descending: sort.descending }
}
