import type { Ctx } from '../../../app.ts'
import { AppError, forbidden, unauthorized } from '../../../errors.ts'
import { basePath } from '../../../http/base-path.ts'
import { errorStatus } from '../../../http/errors.ts'
import type { Request, Routes } from '../../../http/http.ts'
import { exactText, requiredText, text } from '../../../http/query.ts'
import { type ApiResponse, binary } from '../../../http/responses.ts'
import { refusalPage, sentence } from '../../identity/oauth/pages.ts'
import { redirectUnstored } from '../../identity/oauth/routes.ts'
import { findBrowser } from '../../identity/oauth/service.ts'
import { finishConnecting, startConnecting } from './authorization.ts'
import { finishInstalling, startInstalling } from './installations.ts'

/* Pages that a person's browser visits on the way to a host and back. */

const PAGE = binary('text/html')
const BROWSER = {
  // The session is read here, since refusals are pages.
  access: 'public',
  prefix: '',
  responses: { 303: null, 401: PAGE, 403: PAGE, 404: PAGE, 409: PAGE, 422: PAGE, 503: PAGE },
} as const
const CALLBACK = { code: exactText(), state: exactText(), error: text(), error_description: text() }

export const browserRoutes: Routes = (http) => {
  http.get('/auth/:uuid', { ...BROWSER, summary: 'Start the authorization of a connection on its host' }, async (req) =>
    inBrowser(req, async (ctx) => {
      checkOwnLink(req)
      return startConnecting(ctx, req.params.uuid)
    }),
  )
  http.get(
    '/auth/:uuid/callback',
    {
      ...BROWSER,
      summary: 'Finish the authorization of a connection',
      audit: 'oauth_client authorize',
      query: CALLBACK,
    },
    async (req) =>
      inBrowser(req, async (ctx) => {
        const { organization_name: name, id } = await finishConnecting(ctx, req.params.uuid, req.query)
        return `/app/${name}/connections/${id}`
      }),
  )
  http.get(
    '/github-app/connect',
    { ...BROWSER, summary: 'Start the installation of the GitHub App', query: { organization: requiredText() } },
    async (req) =>
      inBrowser(req, async (ctx) => {
        checkOwnLink(req)
        return startInstalling(ctx, req.query.organization)
      }),
  )
  http.get(
    '/github-app/setup',
    {
      ...BROWSER,
      summary: 'Finish the installation of the GitHub App',
      audit: 'github_app_installation link',
      query: { ...CALLBACK, installation_id: text(), setup_action: text() },
    },
    async (req) => inBrowser(req, async (ctx) => finishInstalling(ctx, req.query)),
  )
}

type Visit = Pick<Request<string, unknown>, 'ctx' | 'raw' | 'header'>

/** Another site must not start an authorization: it would replace the token by that of the browser's account on the host. */
function checkOwnLink(visit: Visit) {
  if (visit.header('sec-fetch-site') === 'cross-site')
    throw forbidden("the authorization must be started on this server's page of the connection")
}

/** Redirects to the URL of `visit`, which acts as the signed-in person, or shows why not. */
async function inBrowser(visit: Visit, act: (ctx: Ctx) => Promise<string>): Promise<ApiResponse> {
  const { ctx } = visit
  try {
    const browser = await findBrowser(ctx, visit.raw)
    if (!browser) throw unauthorized('sign in first, then open the link again')
    return redirectUnstored(await act({ ...ctx, actor: browser.actor }))
  } catch (error) {
    if (!(error instanceof AppError)) throw error
    return refusalPage(
      { status: errorStatus(error), title: 'Not connected', detail: sentence(error.message) },
      { text: 'Back to Groundstate', url: `${basePath(ctx.baseUrl)}/app` },
    )
  }
}
