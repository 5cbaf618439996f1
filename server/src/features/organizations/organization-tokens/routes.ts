import { z } from 'zod'
import type { Routes } from '../../../http/http.ts'
import { ok } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import { CREATE_TOKEN, DELETE_TOKEN, SHOW_TOKEN, createdToken } from '../../identity/tokens/routes.ts'
import { createOrganizationToken, deleteOrganizationToken, showOrganizationToken } from './service.ts'

const PATH = '/organizations/:organizationName/authentication-token'

const OF_ORGANIZATION = {
  access: { organization: 'tokens:manage' },
  query: {
    // An empty kind is rejected: otherwise the wrong token would be replaced or deleted.
    token: z
      .enum(['organization', 'audit-trails'], {
        error: ({ input }) => `is ${JSON.stringify(input)}, it must be organization or audit-trails`,
      })
      .default('organization')
      .describe('which of the two tokens; organization when absent'),
  },
} as const

export const organizationTokenRoutes: Routes = (http) => {
  http.get(
    PATH,
    { ...SHOW_TOKEN, ...OF_ORGANIZATION, summary: 'Show the token of an organization' },
    async ({ ctx, params, query }) =>
      ok(tokenResource(await showOrganizationToken(ctx, params.organizationName, query.token))),
  )
  http.post(
    PATH,
    { ...CREATE_TOKEN, ...OF_ORGANIZATION, summary: 'Create the token of an organization' },
    async ({ ctx, params, query, body }) =>
      createdToken(await createOrganizationToken(ctx, params.organizationName, { ...body, kind: query.token })),
  )
  http.delete(
    PATH,
    { ...DELETE_TOKEN, ...OF_ORGANIZATION, summary: 'Delete the token of an organization' },
    async ({ ctx, params, query }) => deleteOrganizationToken(ctx, params.organizationName, query.token),
  )
}
