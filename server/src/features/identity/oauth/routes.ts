import * as contract from '@groundstate/contract/discovery'
import { z } from 'zod'
import { AppError, badRequest } from '../../../errors.ts'
import { checkOwnPages } from '../../../http/authenticate.ts'
import { basePath } from '../../../http/base-path.ts'
import { errorStatus } from '../../../http/errors.ts'
import type { Routes } from '../../../http/http.ts'
import { type ApiResponse, binary, json } from '../../../http/responses.ts'
import { endCurrentSession, endedCookieHeader } from '../sessions/service.ts'
import { signInMethods } from '../sessions/sign-in-settings.ts'
import { requireUser } from '../users/access.ts'
import { avatarPath } from '../users/resource.ts'
import { codePage, consentPage, refusalPage, sentence, signInPage } from './pages.ts'
import { type AuthorizeRequest, authorizeQuery, readAuthorizeRequest } from './request.ts'
import * as service from './service.ts'

const text = z.string().max(1000)
const signInForm = z.object({
  query: z.string().max(4000),
  username: text.optional(),
  password: text.optional(),
  pending: text.optional(),
  otp: text.optional(),
})
const consentForm = z.object({ query: z.string().max(4000), csrf: text, decision: z.enum(['approve', 'deny']) })

const PUBLIC = { access: 'public', prefix: '' } as const
const PAGE = binary('text/html')

export const oauthRoutes: Routes = (http) => {
  http.get(
    '/oauth/authorize',
    // The query has no schema: its errors are pages, or go to the client.
    { ...PUBLIC, summary: 'Show the consent page for the CLI', responses: { 200: PAGE, 302: null, 400: PAGE } },
    async (req) => {
      const read = readAuthorizeRequest(req.raw.query as Record<string, unknown>)
      if ('refusal' in read) return refusalPage({ status: 400, title: 'Invalid sign-in request', detail: read.refusal })
      if ('redirect' in read) return redirectUnstored(read.redirect, 302)
      const browser = await service.findBrowser(req.ctx, req.raw)
      if (!browser) return signInPage(read.request, await signInMethods(req.ctx))
      const user = await requireUser({ ...req.ctx, actor: browser.actor }, browser.actor.userId)
      const avatar = `${basePath(req.ctx.baseUrl)}${avatarPath(user)}`
      return consentPage(read.request, { username: user.username, avatar, csrf: browser.csrf })
    },
  )
  http.post(
    '/oauth/sign-in',
    {
      ...PUBLIC,
      summary: 'Sign in on the page for the CLI',
      audit: 'user sign_in',
      body: signInForm,
      responses: { 200: PAGE, 303: null, 401: PAGE },
    },
    async (req) => {
      checkOwnPages(req.ctx, req.raw)
      const request = readForm(req.body.query)
      const { username, password, pending, otp } = req.body
      try {
        const result =
          pending === undefined
            ? await service.startSignIn(req.ctx, { username: username ?? '', password: password ?? '' })
            : await service.finishSignIn(req.ctx, { pending, otp: otp ?? '' })
        if ('pending' in result) return codePage(request, result.pending)
        return seeConsent(request, result.setCookie)
      } catch (error) {
        if (!(error instanceof AppError)) throw error
        const options = { status: errorStatus(error), error: sentence(error.message), headers: retryHeaders(error) }
        const methods = await signInMethods(req.ctx)
        const isCode = error.parts[0]?.source?.pointer === '/data/attributes/otp'
        return isCode && pending !== undefined
          ? codePage(request, pending, options)
          : signInPage(request, methods, username === undefined ? options : { ...options, username })
      }
    },
  )
  http.post(
    '/oauth/authorize',
    {
      ...PUBLIC,
      summary: 'Allow or deny a CLI',
      audit: { none: 'a consent changes nothing before the CLI exchanges its code' },
      body: consentForm,
      responses: { 303: null },
    },
    async (req) => {
      const request = readForm(req.body.query)
      const ctx = await service.requireBrowser(req.ctx, req.raw, req.body.csrf)
      const isApproved = req.body.decision === 'approve'
      return redirectUnstored(isApproved ? await service.approve(ctx, request) : service.deny(request))
    },
  )
  http.post(
    '/oauth/sign-out',
    {
      ...PUBLIC,
      summary: 'Sign out on the page for the CLI',
      audit: 'user sign_out',
      body: consentForm.omit({ decision: true }),
      responses: { 303: null },
    },
    async (req) => {
      const request = readForm(req.body.query)
      await endCurrentSession(await service.requireBrowser(req.ctx, req.raw, req.body.csrf))
      return seeConsent(request, endedCookieHeader(req.ctx.baseUrl))
    },
  )
  http.post(
    '/oauth/token',
    {
      ...PUBLIC,
      // The body has no schema, because errors have the form of RFC 6749.
      summary: 'Exchange a code for an API token',
      audit: 'authentication_token create',
      responses: { 200: contract.accessTokenResponse, 400: contract.oauthErrorResponse },
    },
    async (req) => {
      const headers = { 'cache-control': 'no-store', pragma: 'no-cache' }
      try {
        const isForm = req.header('content-type')?.startsWith('application/x-www-form-urlencoded')
        if (!isForm)
          throw new service.OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded')
        const accessToken = await service.exchangeCode(req.ctx, (req.raw.body ?? {}) as Record<string, unknown>)
        const response = { access_token: accessToken, token_type: 'bearer' } satisfies contract.AccessTokenResponse
        return { ...json(response), headers }
      } catch (error) {
        if (!(error instanceof service.OAuthError)) throw error
        const response = { error: error.code, error_description: error.message } satisfies contract.OAuthErrorResponse
        return { ...json(response, 400), headers }
      }
    },
  )
}

/** The request in a form. Our pages contain only valid ones. */
function readForm(query: string): AuthorizeRequest {
  const read = readAuthorizeRequest(Object.fromEntries(new URLSearchParams(query)))
  if (!('request' in read)) throw badRequest('the form contains no valid request')
  return read.request
}

function seeConsent(request: AuthorizeRequest, setCookie: string) {
  return redirectUnstored(`/oauth/authorize?${authorizeQuery(request)}`, 303, { 'set-cookie': setCookie })
}

export function redirectUnstored(
  url: string,
  status: 302 | 303 = 303,
  headers: Record<string, string> = {},
): ApiResponse {
  return { status, headers: { location: url, 'cache-control': 'no-store', ...headers } }
}

function retryHeaders(error: AppError): Record<string, string> {
  return error.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) }
}
