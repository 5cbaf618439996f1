import * as contract from '@groundstate/contract/password-resets'
import { documentOf } from '@groundstate/contract/responses'
import { checkOwnPages } from '../../../http/authenticate.ts'
import type { Routes } from '../../../http/http.ts'
import { ok, unstored } from '../../../http/responses.ts'
import * as service from './service.ts'

export const passwordResetRoutes: Routes = (http) => {
  http.post(
    '/password-resets',
    {
      summary: 'Request a link to reset a password by e-mail',
      access: 'public',
      audit: { none: 'a background job looks for the account, and records the request' },
      body: contract.requestPasswordResetBody,
      responses: { 204: null },
    },
    async (req) => {
      checkOwnPages(req.ctx, req.raw)
      await service.requestPasswordReset(req.ctx, req.body.data.attributes.username)
    },
  )
  http.post(
    '/password-resets/actions/show',
    {
      summary: 'Show whose password a link sets',
      access: 'public',
      audit: { none: 'it changes nothing; the secret must not be in a URL' },
      body: contract.showPasswordResetBody,
      responses: { 200: documentOf(contract.openPasswordResetSchema) },
    },
    async ({ ctx, body }) => {
      const {
        id,
        username,
        expires_at: expiresAt,
      } = await service.requirePasswordReset(ctx, body.data.attributes.secret)
      const attributes = { username, 'expires-at': expiresAt }
      return unstored(ok({ id, type: 'password-resets', attributes } satisfies contract.OpenPasswordResetResource))
    },
  )
  http.post(
    '/password-resets/actions/set-password',
    {
      summary: 'Set a password with a link',
      access: 'public',
      audit: 'user reset_password',
      body: contract.setPasswordBody,
      responses: { 204: null },
    },
    async (req) => {
      checkOwnPages(req.ctx, req.raw)
      await service.resetPassword(req.ctx, req.body.data.attributes)
    },
  )
}
