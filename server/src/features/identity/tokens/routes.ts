import { tokenIncludes } from '@groundstate/contract/includes'
import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createTokenBody, tokenSchema } from '@groundstate/contract/tokens'
import type { Routes } from '../../../http/http.ts'
import { type ApiResponse, created, unstored } from '../../../http/responses.ts'
import { tokenResource } from './resource.ts'
import { type IssuedToken, createUserToken, listUserTokens } from './service.ts'

/** Options of the routes for tokens of any kind. */
export const LIST_TOKENS = { include: tokenIncludes, responses: { 200: pageOf(tokenSchema) } }
export const SHOW_TOKEN = { responses: { 200: documentOf(tokenSchema) } }
export const CREATE_TOKEN = {
  audit: 'authentication_token create',
  body: createTokenBody,
  responses: { 201: documentOf(tokenSchema) },
} as const
export const DELETE_TOKEN = { audit: 'authentication_token destroy', responses: { 204: null } } as const

/** The only response with the text of a token. */
export function createdToken({ token, text }: IssuedToken): ApiResponse {
  return unstored(created(tokenResource(token, text)))
}

const OF_USER = { access: ['self', 'site-admin'] } as const

export const userTokenRoutes: Routes = (http) => {
  http.get(
    '/users/:userId/authentication-tokens',
    { ...LIST_TOKENS, ...OF_USER, summary: "List a user's API tokens" },
    async (req) => req.list(await listUserTokens(req.ctx, req.params.userId, req.page()), tokenResource),
  )
  http.post(
    '/users/:userId/authentication-tokens',
    { ...CREATE_TOKEN, ...OF_USER, summary: 'Create an API token of a user' },
    async (req) => createdToken(await createUserToken(req.ctx, req.params.userId, req.body)),
  )
}
