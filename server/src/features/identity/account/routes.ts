import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import * as contract from '@groundstate/contract/account'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import { sessionSchema } from '@groundstate/contract/sessions'
import {
  changePasswordBody,
  confirmPasswordBody,
  confirmTwoFactorBody,
  updateAccountBody,
  verifyTwoFactorBody,
} from '@groundstate/contract/users'
import type { Ctx } from '../../../app.ts'
import type { Routes } from '../../../http/http.ts'
import { listAll, noContent, ok, unstored } from '../../../http/responses.ts'
import { sessionResource } from '../sessions/resource.ts'
import { currentSessionId, endedCookieHeader } from '../sessions/service.ts'
import { userResource } from '../users/resource.ts'
import * as service from './service.ts'

const ACCOUNT = { access: 'person', responses: { 200: documentOf(contract.accountSchema) } } as const

export const accountRoutes: Routes = (http) => {
  http.get('/account/details', { ...ACCOUNT, summary: 'Show your account', access: 'user' }, async ({ ctx }) =>
    account(ctx, await service.requireAccount(ctx)),
  )
  http.patch(
    '/account/update',
    { ...ACCOUNT, summary: 'Update your account', audit: 'user update', body: updateAccountBody },
    async ({ ctx, body }) => account(ctx, await service.updateAccount(ctx, body.data.attributes)),
  )
  http.put(
    '/account/avatar',
    {
      ...ACCOUNT,
      summary: 'Upload your avatar',
      audit: 'user update',
      upload: true,
      maxBytes: service.MAX_AVATAR_BYTES,
      authorise: service.requirePerson,
    },
    async ({ ctx, raw }) => account(ctx, await service.setAvatar(ctx, await buffer(raw.body as Readable))),
  )
  http.delete('/account/avatar', { ...ACCOUNT, summary: 'Remove your avatar', audit: 'user update' }, async ({ ctx }) =>
    account(ctx, await service.removeAvatar(ctx)),
  )
  http.patch(
    '/account/password',
    { ...ACCOUNT, summary: 'Change your password', audit: 'user change_password', body: changePasswordBody },
    async ({ ctx, body }) => account(ctx, await service.changePassword(ctx, body.data.attributes)),
  )
  http.get(
    '/account/sessions',
    { summary: 'List your sessions', access: 'person', responses: { 200: wholeListOf(sessionSchema) } },
    async ({ ctx }) => {
      const sessions = await service.listOwnSessions(ctx)
      return listAll(sessions.map((session) => sessionResource(session, currentSessionId(ctx))))
    },
  )
  http.delete(
    '/account/sessions',
    { summary: 'Sign out everywhere', access: 'person', audit: 'user sign_out_everywhere', responses: { 204: null } },
    async ({ ctx }) => {
      await service.endOwnSessions(ctx)
      return { ...noContent(), headers: { 'set-cookie': endedCookieHeader(ctx.baseUrl) } }
    },
  )
  http.delete(
    '/account/sessions/:sessionId',
    { summary: 'End one of your sessions', access: 'self', audit: 'user end_session', responses: { 204: null } },
    async ({ ctx, params }) => service.endOwnSession(ctx, params.sessionId),
  )
}

function account(ctx: Ctx, { user, hasTwoFactor }: service.Account) {
  const { attributes, ...resource } = userResource(user, ctx)
  const isPassword = user.auth_method === 'password'
  return ok({
    ...resource,
    attributes: {
      ...attributes,
      email: user.email,
      'unconfirmed-email': user.unconfirmed_email,
      'is-site-admin': user.is_site_admin,
      'is-admin': user.is_site_admin,
      'is-sso-login': user.auth_method === 'sso',
      'is-confirmed': true,
      'two-factor': { enabled: hasTwoFactor, verified: hasTwoFactor },
      'default-token-ttl': ctx.config.defaultTokenTtl ?? null,
      permissions: {
        ...attributes.permissions,
        'can-create-organization': attributes.permissions['can-create-organizations'],
        'can-change-password': isPassword,
        'can-manage-sessions': !user.is_service_account,
        'can-manage-user-tokens': !user.is_service_account,
        'can-view2fa-settings': isPassword,
        'can-manage-hcp-account': false,
      },
    },
  } satisfies contract.AccountResource)
}

const CODES = { access: 'person', responses: { 200: documentOf(contract.recoveryCodesSchema) } } as const

export const twoFactorRoutes: Routes = (http) => {
  http.post(
    '/account/two-factor/actions/enroll',
    {
      summary: 'Enroll in two-factor authentication',
      access: 'person',
      audit: 'user enroll_two_factor',
      body: confirmPasswordBody,
      responses: { 200: documentOf(contract.twoFactorEnrollmentSchema) },
    },
    async ({ ctx, body }) => {
      const attributes = await service.enrollTwoFactor(ctx, body.data.attributes.password)
      return unstored(
        ok({ id: 'enrollment', type: 'two-factor', attributes } satisfies contract.TwoFactorEnrollmentResource),
      )
    },
  )
  http.post(
    '/account/two-factor/actions/verify',
    {
      ...CODES,
      summary: 'Enable two-factor authentication',
      audit: 'user enable_two_factor',
      body: verifyTwoFactorBody,
    },
    async ({ ctx, body }) => recoveryCodes(await service.verifyTwoFactor(ctx, body.data.attributes.otp)),
  )
  http.post(
    '/account/two-factor/actions/renew-recovery-codes',
    { ...CODES, summary: 'Replace the recovery codes', audit: 'user renew_recovery_codes', body: confirmTwoFactorBody },
    async ({ ctx, body }) => recoveryCodes(await service.renewRecoveryCodes(ctx, body.data.attributes)),
  )
  http.post(
    '/account/two-factor/actions/disable',
    {
      summary: 'Disable two-factor authentication',
      access: 'person',
      audit: 'user disable_two_factor',
      body: confirmTwoFactorBody,
      responses: { 204: null },
    },
    async ({ ctx, body }) => service.disableTwoFactor(ctx, body.data.attributes),
  )
}

function recoveryCodes(codes: string[]) {
  const attributes = { 'recovery-codes': codes }
  return unstored(ok({ id: 'recovery-codes', type: 'two-factor', attributes } satisfies contract.RecoveryCodesResource))
}
