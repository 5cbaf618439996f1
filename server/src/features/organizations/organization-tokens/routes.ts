import { documentOf } from '@groundstate/contract/responses'
import { createTokenBody, tokenSchema } from '@groundstate/contract/tokens'
import { z } from 'zod'
import type { Routes } from '../../../http/http.ts'
import { created, ok, unstored } from '../../../http/responses.ts'
import { tokenResource } from '../../identity/tokens/resource.ts'
import {
  type OrganizationTokenKind,
  createOrganizationToken,
  deleteOrganizationToken,
  showOrganizationToken,
} from './service.ts'

const PATH = '/organizations/:organizationName/authentication-token'

const KINDS = ['organization', 'audit-trails'] as const satisfies OrganizationTokenKind[]

const query = {
  // An empty kind is refused: a token that is not meant would be replaced or deleted.
  token: z
    .enum(KINDS, { error: ({ input }) => `is ${JSON.stringify(input)}, it must be organization or audit-trails` })
    .default('organization')
    .describe('which of the two tokens; organization when absent'),
}
const SHOW = {
  summary: 'Show the token of an organization',
  access: { organization: 'tokens:manage' },
  responses: { 200: documentOf(tokenSchema) },
  query,
} as const
const CREATE = {
  summary: 'Create the token of an organization',
  access: { organization: 'tokens:manage' },
  audit: 'authentication_token create',
  responses: { 201: documentOf(tokenSchema) },
  body: createTokenBody,
  query,
} as const
const DELETE = {
  summary: 'Delete the token of an organization',
  access: { organization: 'tokens:manage' },
  audit: 'authentication_token destroy',
  responses: { 204: null },
  query,
} as const

export const organizationTokenRoutes: Routes = (http) => {
  http.get(PATH, SHOW, async (req) => {
    const token = await showOrganizationToken(req.ctx, req.params.organizationName, req.query.token)
    return ok(tokenResource(token))
  })

  http.post(PATH, CREATE, async (req) => {
    const input = { ...req.body, kind: req.query.token }
    const { token, text } = await createOrganizationToken(req.ctx, req.params.organizationName, input)
    return unstored(created(tokenResource(token, text)))
  })

  http.delete(PATH, DELETE, async (req) =>
    deleteOrganizationToken(req.ctx, req.params.organizationName, req.query.token),
  )
}
