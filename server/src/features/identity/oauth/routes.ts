import {
  type AccessTokenResponse,
  type OAuthErrorResponse,
  accessTokenResponse,
  oauthErrorResponse,
} from '@groundstate/contract/discovery'
import { z } from 'zod'
import { AppError, badRequest } from '../../../errors.ts'
import { checkOwnPages } from '../../../http/authenticate.ts'
import { basePath } from '../../../http/base-path.ts'
import { errorStatus } from '../../../http/errors.ts'
import type { Routes } from '../../../http/http.ts'
import { type ApiResponse, binary, json, redirect } from '../../../http/responses.ts'
import { signInMethods } from '../sessions/credentials.ts'
import { endCurrentSession, endedCookieHeader } from '../sessions/service.ts'
import { avatarPath } from '../users/resource.ts'
import { codePage, consentPage, refusalPage, signInPage } from './pages.ts'
import { type AuthorizeRequest, authorizeQuery, readAuthorizeRequest } from './request.ts'
import {
  OAuthError,
  approve,
  deny,
  exchangeCode,
  findBrowser,
  finishSignIn,
  requireBrowser,
  startSignIn,
} from './service.ts'

const text = z.string().max(1000)
const signInForm = z.object({
  query: z.string().max(4000),
  username: text.optional(),
  password: text.optional(),
  pending: text.optional(),
  otp: text.optional(),
})
const consentForm = z.object({ query: z.string().max(4000), csrf: text, decision: z.enum(['approve', 'deny']) })
const signOutForm = consentForm.omit({ decision: true })

const PUBLIC = { access: 'public', prefix: '' } as const
const PAGE = binary('text/html')

// The query has no schema here: its errors are pages, or go to the client.
const SHOW_CONSENT = {
  ...PUBLIC,
  summary: 'Ask the user to sign a command line in',
  responses: { 200: PAGE, 302: null, 400: PAGE },
}
const SIGN_IN = {
  ...PUBLIC,
  summary: 'Sign in on the page for command lines',
  audit: 'user sign_in',
  body: signInForm,
  responses: { 200: PAGE, 303: null, 401: PAGE },
} as const
const DECIDE = {
  ...PUBLIC,
  summary: 'Allow or deny a command line',
  audit: { none: 'a consent changes nothing before the command line exchanges its code' },
  body: consentForm,
  responses: { 303: null },
} as const
const SIGN_OUT = {
  ...PUBLIC,
  summary: 'Sign out on the page for command lines',
  audit: 'user sign_out',
  body: signOutForm,
  responses: { 303: null },
} as const
// The body has no schema here, since errors have the form of RFC 6749 and not ours.
const EXCHANGE = {
  ...PUBLIC,
  summary: 'Exchange a code for an API token',
  audit: 'authentication_token create',
  responses: { 200: accessTokenResponse, 400: oauthErrorResponse },
} as const

export const oauthRoutes: Routes = (http) => {
  http.get('/oauth/authorize', SHOW_CONSENT, async (req) => {
    const read = readAuthorizeRequest(req.raw.query as Record<string, unknown>)
    if ('refusal' in read) return refusalPage(400, 'This sign-in can’t work', read.refusal)
    if ('redirect' in read) return { ...redirect(read.redirect), headers: responseHeaders(read.redirect) }
    const browser = await findBrowser(req.ctx, req.raw)
    if (!browser) return signInPage(read.request, signInMethods(req.ctx))
    const { userId, username } = browser.actor
    return consentPage(read.request, {
      username,
      avatar: `${basePath(req.ctx.baseUrl)}${avatarPath(userId)}`,
      csrf: browser.csrf,
    })
  })

  http.post('/oauth/sign-in', SIGN_IN, async (req) => {
    checkOwnPages(req.ctx, req.raw)
    const request = readForm(req.body.query)
    const { username, password, pending, otp } = req.body
    try {
      const result =
        pending === undefined
          ? await startSignIn(req.ctx, { username: username ?? '', password: password ?? '' })
          : await finishSignIn(req.ctx, { pending, otp: otp ?? '' })
      if ('pending' in result) return codePage(request, result.pending)
      return seeOther(`/oauth/authorize?${authorizeQuery(request)}`, { 'set-cookie': result.setCookie })
    } catch (error) {
      if (!(error instanceof AppError)) throw error
      const options = { status: errorStatus(error), error: sentence(error.message), headers: retryHeaders(error) }
      const isCode = error.parts[0]?.source?.pointer === '/data/attributes/otp'
      return isCode && pending !== undefined
        ? codePage(request, pending, options)
        : signInPage(request, signInMethods(req.ctx), username === undefined ? options : { ...options, username })
    }
  })

  http.post('/oauth/authorize', DECIDE, async (req) => {
    const request = readForm(req.body.query)
    const ctx = await requireBrowser(req.ctx, req.raw, req.body.csrf)
    const url = req.body.decision === 'approve' ? await approve(ctx, request) : deny(request)
    return seeOther(url)
  })

  http.post('/oauth/sign-out', SIGN_OUT, async (req) => {
    const request = readForm(req.body.query)
    await endCurrentSession(await requireBrowser(req.ctx, req.raw, req.body.csrf))
    return seeOther(`/oauth/authorize?${authorizeQuery(request)}`, { 'set-cookie': endedCookieHeader(req.ctx.baseUrl) })
  })

  http.post('/oauth/token', EXCHANGE, async (req) => {
    const headers = { 'cache-control': 'no-store', pragma: 'no-cache' }
    try {
      const isForm = req.header('content-type')?.startsWith('application/x-www-form-urlencoded')
      if (!isForm) throw new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded')
      const accessToken = await exchangeCode(req.ctx, (req.raw.body ?? {}) as Record<string, unknown>)
      const response = { access_token: accessToken, token_type: 'bearer' } satisfies AccessTokenResponse
      return { ...json(response), headers }
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      const response = { error: error.code, error_description: error.message } satisfies OAuthErrorResponse
      return { ...json(response, 400), headers }
    }
  })
}

/** The request that a form carries. Our pages put valid requests into their forms. */
function readForm(query: string): AuthorizeRequest {
  const read = readAuthorizeRequest(Object.fromEntries(new URLSearchParams(query)))
  if (!('request' in read)) throw badRequest('the form carries no valid request')
  return read.request
}

function seeOther(url: string, headers: Record<string, string> = {}): ApiResponse {
  return { ...redirect(url, 303), headers: { ...responseHeaders(url), ...headers } }
}

function responseHeaders(url: string) {
  return { location: url, 'cache-control': 'no-store' }
}

function retryHeaders(error: AppError): Record<string, string> {
  return error.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) }
}

function sentence(text: string) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
