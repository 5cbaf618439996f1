import { changePasswordBody, updateAccountBody } from '@groundstate/contract/users'
import { listAll, noContent, ok } from '../../../http/answers.ts'
import type { Request, Routes } from '../../../http/http.ts'
import { accountResource } from './resource.ts'
import {
  type Account,
  changePassword,
  currentSessionId,
  endOwnSession,
  endOwnSessions,
  listOwnSessions,
  showAccount,
  updateAccount,
} from './service.ts'
import { endedCookieHeader } from '../sessions/cookie.ts'
import { sessionResource } from '../sessions/resource.ts'

export const accountRoutes: Routes = (http) => {
  http.get('/account/details', async (req) => presented(req, await showAccount(req.ctx)))

  http.patch('/account/update', { body: updateAccountBody }, async (req) =>
    presented(req, await updateAccount(req.ctx, req.body.data.attributes)),
  )

  http.patch('/account/password', { body: changePasswordBody }, async (req) =>
    presented(req, await changePassword(req.ctx, req.body.data.attributes)),
  )

  http.get('/account/sessions', async (req) => {
    const sessions = await listOwnSessions(req.ctx)
    const current = currentSessionId(req.ctx)
    return listAll(sessions.map((session) => sessionResource(session, current)))
  })

  http.delete('/account/sessions', async (req) => {
    await endOwnSessions(req.ctx)
    return { ...noContent(), headers: { 'set-cookie': endedCookieHeader(req.ctx.baseUrl) } }
  })

  http.delete('/account/sessions/:sessionId', async (req) => {
    await endOwnSession(req.ctx, req.params.sessionId)
    return noContent()
  })
}

function presented({ ctx }: Pick<Request<string, unknown>, 'ctx'>, { user, hasSecondFactor }: Account) {
  return ok(accountResource(user, { baseUrl: ctx.baseUrl, hasSecondFactor }))
}
