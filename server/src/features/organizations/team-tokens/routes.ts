import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createTokenBody, deleteTokensBody, tokenSchema } from '@groundstate/contract/tokens'
import type { Routes } from '../../../http/http.ts'
import { type Query, oneOf, sortBy, text } from '../../../http/query.ts'
import { created, ok, unstored } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import {
  createLegacyTeamToken,
  createTeamToken,
  deleteLegacyTeamToken,
  deleteTeamTokens,
  listTeamTokens,
  listTokensOfTeam,
  showLegacyTeamToken,
} from './service.ts'
import { TEAM_TOKEN_SORTS } from './store.ts'

const LEGACY = '/teams/:teamId/authentication-token'
const NAMED = '/teams/:teamId/authentication-tokens'
const OF_ORGANIZATION = '/organizations/:organizationName/team-tokens'

const EXPIRY_STATUSES = ['expired', 'active', 'never'] as const

const among = (values: readonly string[]) => (given: string) => `is ${given}, it must be among ${values.join(', ')}`

const LIST_QUERY = {
  q: text().describe('part of the team name or of the description'),
  'filter[expiry_status]': oneOf(EXPIRY_STATUSES, among(EXPIRY_STATUSES)),
  sort: sortBy(TEAM_TOKEN_SORTS, '-created-at', among(TEAM_TOKEN_SORTS)).describe(
    'descending with a - before it; -created-at when absent',
  ),
}
const SHOW_LEGACY = {
  summary: 'Show the legacy token of a team',
  access: { team: 'tokens:manage' },
  responses: { 200: documentOf(tokenSchema) },
} as const
const CREATE_LEGACY = {
  summary: 'Create the legacy token of a team',
  access: { team: 'tokens:manage' },
  audit: 'authentication_token create',
  responses: { 201: documentOf(tokenSchema) },
  body: createTokenBody,
} as const
const DELETE_LEGACY = {
  summary: 'Delete the legacy token of a team',
  access: { team: 'tokens:manage' },
  audit: 'authentication_token destroy',
  responses: { 204: null },
} as const
const LIST_OF_TEAM = {
  summary: 'List the tokens of a team',
  access: { team: 'tokens:manage' },
  responses: { 200: pageOf(tokenSchema) },
  query: LIST_QUERY,
} as const
const CREATE = {
  summary: 'Create a token of a team',
  access: { team: 'tokens:manage' },
  audit: 'authentication_token create',
  responses: { 201: documentOf(tokenSchema) },
  body: createTokenBody,
} as const
const LIST = {
  summary: 'List the team tokens of an organization',
  access: { organization: 'organization:read' },
  responses: { 200: pageOf(tokenSchema) },
  query: LIST_QUERY,
} as const
const DELETE = {
  summary: 'Delete team tokens of an organization',
  access: { organization: 'tokens:manage' },
  audit: 'authentication_token destroy',
  responses: { 204: null },
  body: deleteTokensBody,
} as const

export const teamTokenRoutes: Routes = (http) => {
  http.get(LEGACY, SHOW_LEGACY, async (req) => ok(tokenResource(await showLegacyTeamToken(req.ctx, req.params.teamId))))

  http.post(LEGACY, CREATE_LEGACY, async (req) => {
    const { token, text } = await createLegacyTeamToken(req.ctx, req.params.teamId, req.body)
    return unstored(created(tokenResource(token, text)))
  })

  http.delete(LEGACY, DELETE_LEGACY, async (req) => deleteLegacyTeamToken(req.ctx, req.params.teamId))

  http.get(NAMED, LIST_OF_TEAM, async (req) => {
    return req.list(
      await listTokensOfTeam(req.ctx, req.params.teamId, { page: req.page(), ...tokenQuery(req.query) }),
      tokenResource,
    )
  })

  http.post(NAMED, CREATE, async (req) => {
    const { token, text } = await createTeamToken(req.ctx, req.params.teamId, req.body)
    return unstored(created(tokenResource(token, text)))
  })

  http.get(OF_ORGANIZATION, LIST, async (req) => {
    return req.list(
      await listTeamTokens(req.ctx, req.params.organizationName, {
        page: req.page(),
        ...tokenQuery(req.query),
      }),
      tokenResource,
    )
  })

  http.delete(OF_ORGANIZATION, DELETE, async (req) => {
    const ids = req.body.data.map((token) => token.id)
    await deleteTeamTokens(req.ctx, req.params.organizationName, ids)
  })
}

function tokenQuery({ q, sort, 'filter[expiry_status]': expiry }: Query<typeof LIST_QUERY>) {
  return { q, expiry, sort: sort.name, descending: sort.descending }
}
