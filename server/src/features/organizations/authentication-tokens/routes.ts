import { deleteTokensBody } from '@groundstate/contract/tokens'
import { z } from 'zod'
import type { Routes } from '../../../http/http.ts'
import { type Query, oneOf, sortBy, text } from '../../../http/query.ts'
import { ok } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { CREATE_TOKEN, DELETE_TOKEN, LIST_TOKENS, SHOW_TOKEN, createdToken } from '../../identity/tokens/routes.ts'
import * as service from './service.ts'
import { TEAM_TOKEN_SORTS } from './store.ts'

const ANY_TOKEN = '/authentication-tokens/:tokenId'

const MANAGER = {
  access: [
    'self',
    'site-admin',
    { team: 'tokens:manage' },
    { organization: 'tokens:manage' },
    { organization: 'agent-pools:manage' },
  ],
} as const

export const anyTokenRoutes: Routes = (http) => {
  http.get(ANY_TOKEN, { ...SHOW_TOKEN, ...MANAGER, summary: 'Show a token' }, async (req) =>
    ok(tokenResource(await service.requireToken(req.ctx, req.params.tokenId))),
  )
  http.delete(ANY_TOKEN, { ...DELETE_TOKEN, ...MANAGER, summary: 'Delete a token' }, async (req) =>
    service.deleteAuthenticationToken(req.ctx, req.params.tokenId),
  )
}

const ORGANIZATION_TOKEN = '/organizations/:organizationName/authentication-token'

const OF_ORGANIZATION = {
  access: { organization: 'tokens:manage' },
  query: {
    // An empty kind is rejected: otherwise the wrong token would be replaced or deleted.
    token: z
      .enum(['organization', 'audit-trails'], {
        error: ({ input }) => `is ${JSON.stringify(input)}; it must be organization or audit-trails`,
      })
      .default('organization')
      .describe('which of the two tokens; organization when absent'),
  },
} as const

export const organizationTokenRoutes: Routes = (http) => {
  http.get(
    ORGANIZATION_TOKEN,
    { ...SHOW_TOKEN, ...OF_ORGANIZATION, summary: 'Show the token of an organization' },
    async ({ ctx, params, query }) =>
      ok(tokenResource(await service.showOrganizationToken(ctx, params.organizationName, query.token))),
  )
  http.post(
    ORGANIZATION_TOKEN,
    { ...CREATE_TOKEN, ...OF_ORGANIZATION, summary: 'Create the token of an organization' },
    async ({ ctx, params, query, body }) =>
      createdToken(await service.createOrganizationToken(ctx, params.organizationName, { ...body, kind: query.token })),
  )
  http.delete(
    ORGANIZATION_TOKEN,
    { ...DELETE_TOKEN, ...OF_ORGANIZATION, summary: 'Delete the token of an organization' },
    async ({ ctx, params, query }) => service.deleteOrganizationToken(ctx, params.organizationName, query.token),
  )
}

const LEGACY = '/teams/:teamId/authentication-token'
const NAMED = '/teams/:teamId/authentication-tokens'
const TEAM_TOKENS = '/organizations/:organizationName/team-tokens'

const EXPIRY_STATUSES = ['expired', 'active', 'never'] as const

const among = (values: readonly string[]) => (value: string) => `is ${value}; it must be one of ${values.join(', ')}`

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
    TEAM_TOKENS,
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
    TEAM_TOKENS,
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
