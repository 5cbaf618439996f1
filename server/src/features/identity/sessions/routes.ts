import { documentOf } from '@groundstate/contract/responses'
import * as contract from '@groundstate/contract/sessions'
import { userSchema } from '@groundstate/contract/users'
import { z } from 'zod'
import { userActor } from '../../../auth/actor.ts'
import { checkOwnPages } from '../../../http/authenticate.ts'
import type { Routes } from '../../../http/http.ts'
import { created, noContent, ok } from '../../../http/responses.ts'
import { userResource } from '../users/resource.ts'
import { includedUsers } from '../users/service.ts'
import { sessionResource } from './resource.ts'
import { createSession, endCurrentSession, endedCookieHeader, requireCurrentSession } from './service.ts'
import { signInMethods } from './sign-in-settings.ts'

const SESSION = documentOf(contract.sessionSchema).extend({ included: z.array(userSchema) })

export const sessionRoutes: Routes = (http) => {
  http.post(
    '/sessions',
    {
      summary: 'Sign in',
      access: 'public',
      audit: 'user sign_in',
      body: contract.createSessionBody,
      responses: { 201: SESSION },
    },
    async (req) => {
      checkOwnPages(req.ctx, req.raw)
      const { session, user, setCookie } = await createSession(req.ctx, req.body.data.attributes)
      const response = created(sessionResource(session, session.id), [
        userResource(user, { ...req.ctx, actor: userActor(user, session.id) }),
      ])
      return { ...response, headers: { 'set-cookie': setCookie, 'cache-control': 'no-store' } }
    },
  )
  http.get(
    '/sessions/methods',
    {
      summary: 'Show the sign-in methods',
      access: 'public',
      responses: { 200: documentOf(contract.signInMethodsSchema) },
    },
    async ({ ctx }) => {
      const attributes = await signInMethods(ctx)
      return ok({ id: 'sign-in', type: 'sign-in-methods', attributes } satisfies contract.SignInMethodsResource)
    },
  )
  http.get(
    '/sessions/current',
    { summary: 'Show the current session', access: 'session', responses: { 200: SESSION } },
    async ({ ctx }) => {
      const session = await requireCurrentSession(ctx)
      return ok(sessionResource(session, session.id), await includedUsers(ctx, [session.user_id]))
    },
  )
  http.delete(
    '/sessions/current',
    { summary: 'Sign out', access: 'session', audit: 'user sign_out', responses: { 204: null } },
    async ({ ctx }) => {
      await endCurrentSession(ctx)
      return { ...noContent(), headers: { 'set-cookie': endedCookieHeader(ctx.baseUrl) } }
    },
  )
}
