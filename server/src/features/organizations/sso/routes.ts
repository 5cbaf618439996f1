import type { Ctx } from '../../../app.ts'
import { AppError } from '../../../errors.ts'
import { basePath } from '../../../http/base-path.ts'
import { errorStatus } from '../../../http/errors.ts'
import type { Routes } from '../../../http/http.ts'
import { text } from '../../../http/query.ts'
import { binary } from '../../../http/responses.ts'
import { refusalPage, sentence } from '../../identity/oauth/pages.ts'
import { redirectUnstored } from '../../identity/oauth/routes.ts'
import { endedPendingCookie, pendingCookie, requirePending } from './provider.ts'
import { finishSignOn, startSignOn } from './service.ts'
import { finishTrial, startTrial } from './trials.ts'

const PUBLIC = { access: 'public', prefix: '' } as const
const PAGE = binary('text/html')

export const ssoRoutes: Routes = (http) => {
  http.get(
    '/auth/oidc',
    {
      ...PUBLIC,
      summary: 'Start a sign-in at the identity provider',
      responses: { 302: null, 404: PAGE, 503: PAGE },
      query: {
        return_to: text().describe('path to go to after the sign-in'),
        trial: text().describe('id of a trial sign-in, which opens no session'),
      },
    },
    async (req) => {
      try {
        const { return_to: returnTo, trial } = req.query
        const { url, pending } =
          trial === undefined ? await startSignOn(req.ctx, ownPath(returnTo)) : await startTrial(req.ctx, trial)
        return redirectUnstored(url, 302, { 'set-cookie': pendingCookie(req.ctx, pending) })
      } catch (error) {
        return refusal(req.ctx, error)
      }
    },
  )
  http.get(
    '/auth/oidc/callback',
    {
      ...PUBLIC,
      summary: 'Finish a sign-in at the identity provider',
      responses: { 303: null, 401: PAGE, 403: PAGE, 404: PAGE, 503: PAGE },
    },
    async (req) => {
      try {
        const pending = requirePending(req.ctx, req.raw)
        const query = req.url.replace(/^[^?]*/, '')
        if (pending.trial !== undefined) {
          await finishTrial(req.ctx, query, { ...pending, trial: pending.trial })
          return redirectUnstored(pending.returnTo, 303, { 'set-cookie': endedPendingCookie(req.ctx) })
        }
        const { setCookie } = await finishSignOn(req.ctx, query, pending)
        req.reply.header('set-cookie', [setCookie, endedPendingCookie(req.ctx)])
        return redirectUnstored(pending.returnTo)
      } catch (error) {
        return refusal(req.ctx, error)
      }
    },
  )
}

/** The return path comes from a link that anyone can create, so it must be on this server. */
function ownPath(text: string | undefined) {
  return text !== undefined && /^\/(?![/\\])[^\s\\]*$/.test(text) ? text : '/app'
}

function refusal({ baseUrl }: Ctx, error: unknown) {
  if (!(error instanceof AppError)) throw error
  return refusalPage(
    { status: errorStatus(error), title: 'Sign-in failed', detail: sentence(error.message) },
    { text: 'Back to sign-in', url: `${basePath(baseUrl)}/app/sign-in` },
  )
}
