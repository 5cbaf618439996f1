import { createSessionBody } from '@groundstate/contract/sessions'
import { checkOwnPages } from '../../../auth/authenticate.ts'
import { created, noContent, ok } from '../../../http/answers.ts'
import type { Routes } from '../../../http/http.ts'
import { includedUsers } from '../users/service.ts'
import { endedCookieHeader } from './cookie.ts'
import { sessionResource, signInMethodsResource } from './resource.ts'
import { createSession, deleteCurrentSession, requireCurrentSession } from './service.ts'
import { userResource } from '../users/resource.ts'
import { signInMethods } from './methods.ts'

export const sessionRoutes: Routes = (http) => {
  http.post('/sessions', { access: 'public', body: createSessionBody }, async (req) => {
    checkOwnPages(req.ctx, req.raw)
    const { session, user, setCookie } = await createSession(req.ctx, req.body.data.attributes)
    const answer = created(sessionResource(session, session.id), [userResource(user, req.ctx.baseUrl)])
    return { ...answer, headers: { 'set-cookie': setCookie, 'cache-control': 'no-store' } }
  })

  http.get('/sessions/methods', { access: 'public' }, async (req) => ok(signInMethodsResource(signInMethods(req.ctx))))

  http.get('/sessions/current', async (req) => {
    const session = await requireCurrentSession(req.ctx)
    return ok(sessionResource(session, session.id), await includedUsers(req.ctx, [session.user_id]))
  })

  http.delete('/sessions/current', async (req) => {
    await deleteCurrentSession(req.ctx)
    return { ...noContent(), headers: { 'set-cookie': endedCookieHeader(req.ctx.baseUrl) } }
  })
}
