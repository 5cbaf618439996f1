import { accessTokenAnswer, oauthErrorAnswer } from '@groundstate/contract/oauth'
import { createHash, timingSafeEqual } from 'node:crypto'
import type { AccessTokenAnswer, OAuthErrorAnswer } from '@groundstate/contract/oauth'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Ctx } from '../../../app.ts'
import { checkOwnPages, checkSameOrigin, findSessionActor, sessionCookie } from '../../../auth/authenticate.ts'
import { AppError, badRequest, forbidden } from '../../../errors.ts'
import { type Answer, json, redirect } from '../../../http/answers.ts'
import { errorStatus } from '../../../http/errors.ts'
import type { Routes } from '../../../http/http.ts'
import { deleteCurrentSession } from '../sessions/service.ts'
import { codePage, consentPage, refusalPage, signInPage } from './pages.ts'
import { type AuthorizeRequest, authorizeQuery, readAuthorizeRequest } from './request.ts'
import { approve, deny, exchangeCode, OAuthError } from './service.ts'
import { finishSignIn, startSignIn } from './sign-in.ts'
import { endedCookieHeader } from '../sessions/cookie.ts'
import { signInMethods } from '../sessions/methods.ts'
import { avatarPath } from '../users/resource.ts'

const PUBLIC = { access: 'public', prefix: '' } as const

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

export const oauthRoutes: Routes = (http) => {
  http.get('/oauth/authorize', PUBLIC, async (req) => {
    const read = readAuthorizeRequest(req.query)
    if ('refusal' in read) return refusalPage(400, 'This sign-in can’t work', read.refusal)
    if ('redirect' in read) return { ...redirect(read.redirect), headers: answerHeaders(read.redirect) }
    const browser = await findBrowser(req.ctx, req.raw)
    if (!browser) return signInPage(read.request, signInMethods(req.ctx))
    const { userId, username } = browser.actor
    return consentPage(read.request, { username, avatar: avatarPath(userId), csrf: browser.csrf })
  })

  http.post('/oauth/sign-in', { ...PUBLIC, body: signInForm }, async (req) => {
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

  http.post('/oauth/authorize', { ...PUBLIC, body: consentForm }, async (req) => {
    const request = readForm(req.body.query)
    const ctx = await requireBrowser(req.ctx, req.raw, req.body.csrf)
    const url = req.body.decision === 'approve' ? await approve(ctx, request) : deny(request)
    return seeOther(url)
  })

  http.post('/oauth/sign-out', { ...PUBLIC, body: signOutForm }, async (req) => {
    const request = readForm(req.body.query)
    await deleteCurrentSession(await requireBrowser(req.ctx, req.raw, req.body.csrf))
    return seeOther(`/oauth/authorize?${authorizeQuery(request)}`, { 'set-cookie': endedCookieHeader(req.ctx.baseUrl) })
  })

  // Its body has no schema here, since errors have the form of RFC 6749 and not ours.
  const answers = { 200: accessTokenAnswer, 400: oauthErrorAnswer }
  http.post('/oauth/token', { ...PUBLIC, answers }, async (req) => {
    const headers = { 'cache-control': 'no-store', pragma: 'no-cache' }
    try {
      const isForm = req.header('content-type')?.startsWith('application/x-www-form-urlencoded')
      if (!isForm) throw new OAuthError('invalid_request', 'the body must be application/x-www-form-urlencoded')
      const accessToken = await exchangeCode(req.ctx, (req.raw.body ?? {}) as Record<string, unknown>)
      const answer = { access_token: accessToken, token_type: 'bearer' } satisfies AccessTokenAnswer
      return { ...json(answer), headers }
    } catch (error) {
      if (!(error instanceof OAuthError)) throw error
      const answer = { error: error.code, error_description: error.message } satisfies OAuthErrorAnswer
      return { ...json(answer, 400), headers }
    }
  })
}

/** Who is signed in, and the proof that a form was made for them: a text that only our page and the cookie can tell. */
async function findBrowser(ctx: Ctx, request: FastifyRequest) {
  const cookie = sessionCookie(request)
  const actor = cookie === undefined ? undefined : await findSessionActor(ctx, cookie)
  if (cookie === undefined || !actor) return undefined
  return { actor, csrf: createHash('sha256').update(`consent:${cookie}`).digest('base64url') }
}

async function requireBrowser(ctx: Ctx, request: FastifyRequest, csrf: string): Promise<Ctx> {
  checkSameOrigin(ctx, request)
  const browser = await findBrowser(ctx, request)
  if (!browser || !isSame(csrf, browser.csrf)) throw forbidden('the page is out of date, run the command again')
  return { ...ctx, actor: browser.actor }
}

function isSame(given: string, wanted: string) {
  return given.length === wanted.length && timingSafeEqual(Buffer.from(given), Buffer.from(wanted))
}

/** The request that a form carries; our pages only carry good ones. */
function readForm(query: string): AuthorizeRequest {
  const read = readAuthorizeRequest(Object.fromEntries(new URLSearchParams(query)))
  if (!('request' in read)) throw badRequest('the form carries no valid request')
  return read.request
}

function seeOther(url: string, headers: Record<string, string> = {}): Answer {
  return { ...redirect(url, 303), headers: { ...answerHeaders(url), ...headers } }
}

function answerHeaders(url: string) {
  return { location: url, 'cache-control': 'no-store' }
}

function retryHeaders(error: AppError): Record<string, string> {
  return error.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(error.retryAfterMs / 1000)) }
}

function sentence(text: string) {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
