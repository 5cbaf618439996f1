import {
  type RecoveryCodesResource,
  type TwoFactorEnrollmentResource,
  accountSchema,
  recoveryCodesSchema,
  twoFactorEnrollmentSchema,
} from '@groundstate/contract/account'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import { sessionSchema } from '@groundstate/contract/sessions'
import {
  changePasswordBody,
  confirmPasswordBody,
  confirmTwoFactorBody,
  updateAccountBody,
  verifyTwoFactorBody,
} from '@groundstate/contract/users'
import type { Request, Routes } from '../../../http/http.ts'
import { listAll, noContent, ok, unstored } from '../../../http/responses.ts'
import { sessionResource } from '../sessions/resource.ts'
import { currentSessionId, endedCookieHeader } from '../sessions/service.ts'
import { type Account, requireAccount } from './access.ts'
import { accountResource } from './resource.ts'
import {
  changePassword,
  disableTwoFactor,
  endOwnSession,
  endOwnSessions,
  enrollTwoFactor,
  listOwnSessions,
  renewRecoveryCodes,
  updateAccount,
  verifyTwoFactor,
} from './service.ts'

const ACCOUNT = { 200: documentOf(accountSchema) }
const SHOW = { summary: 'Show your account', access: 'user', responses: ACCOUNT } as const
const UPDATE = {
  summary: 'Update your account',
  access: 'person',
  audit: 'user update',
  body: updateAccountBody,
  responses: ACCOUNT,
} as const
const CHANGE_PASSWORD = {
  summary: 'Change your password',
  access: 'person',
  audit: 'user change_password',
  body: changePasswordBody,
  responses: ACCOUNT,
} as const
const LIST_SESSIONS = {
  summary: 'List your sessions',
  access: 'person',
  responses: { 200: wholeListOf(sessionSchema) },
} as const
const END_SESSIONS = {
  summary: 'Sign out everywhere',
  access: 'person',
  audit: 'user sign_out_everywhere',
  responses: { 204: null },
} as const
const END_SESSION = {
  summary: 'End one of your sessions',
  access: 'self',
  audit: 'user end_session',
  responses: { 204: null },
} as const

export const accountRoutes: Routes = (http) => {
  http.get('/account/details', SHOW, async (req) => presented(req, await requireAccount(req.ctx)))

  http.patch('/account/update', UPDATE, async (req) =>
    presented(req, await updateAccount(req.ctx, req.body.data.attributes)),
  )

  http.patch('/account/password', CHANGE_PASSWORD, async (req) =>
    presented(req, await changePassword(req.ctx, req.body.data.attributes)),
  )

  http.get('/account/sessions', LIST_SESSIONS, async (req) => {
    const sessions = await listOwnSessions(req.ctx)
    const current = currentSessionId(req.ctx)
    return listAll(sessions.map((session) => sessionResource(session, current)))
  })

  http.delete('/account/sessions', END_SESSIONS, async (req) => {
    await endOwnSessions(req.ctx)
    return { ...noContent(), headers: { 'set-cookie': endedCookieHeader(req.ctx.baseUrl) } }
  })

  http.delete('/account/sessions/:sessionId', END_SESSION, async (req) => endOwnSession(req.ctx, req.params.sessionId))
}

function presented({ ctx }: Pick<Request<string, unknown>, 'ctx'>, { user, hasTwoFactor }: Account) {
  return ok(accountResource(user, { actor: ctx.actor, baseUrl: ctx.baseUrl, hasTwoFactor }))
}

const ENROLL = {
  summary: 'Start to set up two-factor authentication',
  access: 'person',
  audit: 'user enroll_two_factor',
  body: confirmPasswordBody,
  responses: { 200: documentOf(twoFactorEnrollmentSchema) },
} as const
const RECOVERY_CODES = { 200: documentOf(recoveryCodesSchema) }
const VERIFY = {
  summary: 'Enable two-factor authentication',
  access: 'person',
  audit: 'user enable_two_factor',
  body: verifyTwoFactorBody,
  responses: RECOVERY_CODES,
} as const
const RENEW = {
  summary: 'Replace the recovery codes',
  access: 'person',
  audit: 'user renew_recovery_codes',
  body: confirmTwoFactorBody,
  responses: RECOVERY_CODES,
} as const
const DISABLE = {
  summary: 'Disable two-factor authentication',
  access: 'person',
  audit: 'user disable_two_factor',
  body: confirmTwoFactorBody,
  responses: { 204: null },
} as const

export const twoFactorRoutes: Routes = (http) => {
  http.post('/account/two-factor/actions/enroll', ENROLL, async (req) => {
    const { secret, uri } = await enrollTwoFactor(req.ctx, req.body.data.attributes.password)
    const resource = {
      id: 'enrollment',
      type: 'two-factor',
      attributes: { secret, uri },
    } satisfies TwoFactorEnrollmentResource
    return unstored(ok(resource))
  })

  http.post('/account/two-factor/actions/verify', VERIFY, async (req) =>
    recoveryCodes(await verifyTwoFactor(req.ctx, req.body.data.attributes.otp)),
  )

  http.post('/account/two-factor/actions/renew-recovery-codes', RENEW, async (req) =>
    recoveryCodes(await renewRecoveryCodes(req.ctx, req.body.data.attributes)),
  )

  http.post('/account/two-factor/actions/disable', DISABLE, async (req) =>
    disableTwoFactor(req.ctx, req.body.data.attributes),
  )
}

function recoveryCodes(codes: string[]) {
  const attributes = { 'recovery-codes': codes }
  const resource = { id: 'recovery-codes', type: 'two-factor', attributes } satisfies RecoveryCodesResource
  return unstored(ok(resource))
}
