import { documentOf, pageOf } from '@groundstate/contract/responses'
import { createTokenBody, tokenSchema } from '@groundstate/contract/tokens'
import type { Routes } from '../../../http/http.ts'
import { created, unstored } from '../../../http/responses.ts'
import { tokenResource } from './resource.ts'
import { createUserToken, listUserTokens } from './service.ts'

const LIST = {
  summary: "List a user's API tokens",
  access: ['self', 'site-admin'],
  responses: { 200: pageOf(tokenSchema) },
} as const
const CREATE = {
  summary: 'Create an API token of a user',
  access: ['self', 'site-admin'],
  audit: 'authentication_token create',
  body: createTokenBody,
  responses: { 201: documentOf(tokenSchema) },
} as const

export const userTokenRoutes: Routes = (http) => {
  http.get('/users/:userId/authentication-tokens', LIST, async (req) => {
    return req.list(await listUserTokens(req.ctx, req.params.userId, req.page()), tokenResource)
  })

  http.post('/users/:userId/authentication-tokens', CREATE, async (req) => {
    const { token, text } = await createUserToken(req.ctx, req.params.userId, req.body)
    return unstored(created(tokenResource(token, text)))
  })
}
