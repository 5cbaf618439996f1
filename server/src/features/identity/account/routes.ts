import { accountSchema } from '@groundstate/contract/account'
import { documentOf, wholeListOf } from '@groundstate/contract/responses'
import { sessionSchema } from '@groundstate/contract/sessions'
import { changePasswordBody, updateAccountBody } from '@groundstate/contract/users'
import type { Request, Routes } from '../../../http/http.ts'
import { listAll, noContent, ok } from '../../../http/responses.ts'
import { currentSessionId } from '../sessions/access.ts'
import { endedCookieHeader } from '../sessions/cookie.ts'
import { sessionResource } from '../sessions/resource.ts'
import { type Account, requireAccount } from './access.ts'
import { changePassword } from './change-password.ts'
import { endOwnSession, endOwnSessions } from './end-sessions.ts'
import { listOwnSessions } from './list-sessions.ts'
import { accountResource } from './resource.ts'
import { updateAccount } from './update.ts'

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

  http.delete('/account/sessions/:sessionId', END_SESSION, async (req) => {
    await endOwnSession(req.ctx, req.params.sessionId)
    return noContent()
  })
}

function presented({ ctx }: Pick<Request<string, unknown>, 'ctx'>, { user, hasTwoFactor }: Account) {
  return ok(accountResource(user, { actor: ctx.actor, baseUrl: ctx.baseUrl, hasTwoFactor }))
}
