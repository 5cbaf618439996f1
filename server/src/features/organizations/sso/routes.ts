import type { Ctx } from '../../../app.ts'
import { AppError } from '../../../errors.ts'
import { basePath } from '../../../http/base-path.ts'
import { errorStatus } from '../../../http/errors.ts'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { binary, redirect } from '../../../http/responses.ts'
import { refusalPage } from '../../identity/oauth/pages.ts'
import { endedPendingCookie, pendingCookie, requirePending } from './provider.ts'
import { finishSignOn, startSignOn } from './service.ts'

const PUBLIC = { access: 'public', prefix: '' } as const

const PAGE = binary('text/html')

const START = {
  ...PUBLIC,
  summary: 'Start to sign in at the identity provider',
  responses: { 302: null, 404: PAGE, 503: PAGE },
  query: { return_to: text().describe('path to go to after the sign-in') },
}
const FINISH = {
  ...PUBLIC,
  summary: 'Finish to sign in at the identity provider',
  responses: { 303: null, 401: PAGE, 403: PAGE, 404: PAGE, 503: PAGE },
}

export const ssoRoutes: Routes = (http) => {
  http.get('/auth/oidc', START, async (req) => {
    try {
      const { url, pending } = await startSignOn(req.ctx, ownPath(req.query.return_to))
      return {
        ...redirect(url),
        headers: { location: url, 'set-cookie': pendingCookie(req.ctx, pending), 'cache-control': 'no-store' },
      }
    } catch (error) {
      return refusal(req.ctx, error)
    }
  })

  http.get('/auth/oidc/callback', FINISH, async (req) => {
    try {
      const pending = requirePending(req.ctx, req.raw)
      const query = req.url.replace(/^[^?]*/, '')
      const { setCookie } = await finishSignOn(req.ctx, query, pending)
      req.reply.header('set-cookie', [setCookie, endedPendingCookie(req.ctx)])
      return {
        ...redirect(pending.returnTo, 303),
        headers: { location: pending.returnTo, 'cache-control': 'no-store' },
      }
    } catch (error) {
      return refusal(req.ctx, error)
    }
  })
}

/** The return path comes from a link that anyone can create, so it must be on this server. */
function ownPath(text: string | undefined) {
  return text !== undefined && /^\/(?![/\\])[^\s\\]*$/.test(text) ? text : '/app'
}

function refusal({ baseUrl }: Ctx, error: unknown) {
  if (!(error instanceof AppError)) throw error
  const text = `${error.message.charAt(0).toUpperCase()}${error.message.slice(1)}.`
  return refusalPage(errorStatus(error), 'Signing in did not work', text, {
    text: 'Back to the sign-in',
    url: `${basePath(baseUrl)}/app/sign-in`,
  })
}
