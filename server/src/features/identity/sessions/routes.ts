import { documentOf } from '@groundstate/contract/responses'
import { createSessionBody, sessionSchema, signInMethodsSchema } from '@groundstate/contract/sessions'
import { userSchema } from '@groundstate/contract/users'
import { z } from 'zod'
import { userActor } from '../../../auth/actor.ts'
import { checkOwnPages } from '../../../http/authenticate.ts'
import type { Routes } from '../../../http/http.ts'
import { created, noContent, ok } from '../../../http/responses.ts'
import { includedUsers, userResource } from '../users/resource.ts'
import { signInMethods } from './credentials.ts'
import { sessionResource, signInMethodsResource } from './resource.ts'
import { createSession, endCurrentSession, endedCookieHeader, requireCurrentSession } from './service.ts'

/** A session always comes with its user. */
const sessionWithUser = documentOf(sessionSchema).extend({ included: z.array(userSchema) })

const CREATE = {
  summary: 'Sign in',
  access: 'public',
  audit: 'user sign_in',
  body: createSessionBody,
  responses: { 201: sessionWithUser },
} as const
const SHOW_METHODS = {
  summary: 'Show the ways to sign in',
  access: 'public',
  responses: { 200: documentOf(signInMethodsSchema) },
} as const
const SHOW = {
  summary: 'Show the current session',
  access: 'session',
  responses: { 200: sessionWithUser },
} as const

export const sessionRoutes: Routes = (http) => {
  http.post('/sessions', CREATE, async (req) => {
    checkOwnPages(req.ctx, req.raw)
    const { session, user, setCookie } = await createSession(req.ctx, req.body.data.attributes)
    const response = created(sessionResource(session, session.id), [
      userResource(user, { ...req.ctx, actor: userActor(user, session.id) }),
    ])
    return { ...response, headers: { 'set-cookie': setCookie, 'cache-control': 'no-store' } }
  })

  http.get('/sessions/methods', SHOW_METHODS, async (req) => ok(signInMethodsResource(signInMethods(req.ctx))))

  http.get('/sessions/current', SHOW, async (req) => {
    const session = await requireCurrentSession(req.ctx)
    return ok(sessionResource(session, session.id), await includedUsers(req.ctx, [session.user_id]))
  })

  http.delete(
    '/sessions/current',
    { summary: 'Sign out', access: 'session', audit: 'user sign_out', responses: { 204: null } },
    async (req) => {
      await endCurrentSession(req.ctx)
      return { ...noContent(), headers: { 'set-cookie': endedCookieHeader(req.ctx.baseUrl) } }
    },
  )
}
