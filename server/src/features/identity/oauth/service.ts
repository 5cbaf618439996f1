import { createHash, timingSafeEqual } from 'node:crypto'
import type { OAuthErrorResponse } from '@groundstate/contract/discovery'
import type { FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM, userActor } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, unauthorized } from '../../../errors.ts'
import { jobHandler } from '../../../handlers.ts'
import { checkSameOrigin, findSessionActor, sessionCookie } from '../../../http/authenticate.ts'
import { jobKind } from '../../../jobs/jobs.ts'
import { checkCode, checkPassword } from '../sessions/credentials.ts'
import { openSession } from '../sessions/service.ts'
import { hasTwoFactor } from '../sessions/two-factor-store.ts'
import { createUserToken, revokeToken } from '../tokens/service.ts'
import { findUser } from '../users/store.ts'
import { type AuthorizeRequest, CLI_CLIENT, responseUrl } from './request.ts'
import * as store from './store.ts'

/**
 * The user who is signed in, and the token that protects forms against cross-site requests; undefined without a
 * session.
 */
export async function findBrowser(ctx: Ctx, request: FastifyRequest) {
  const cookie = sessionCookie(request)
  const actor = cookie === undefined ? undefined : await findSessionActor(ctx, cookie)
  if (cookie === undefined || !actor) return undefined
  return { actor, csrf: createHash('sha256').update(`consent:${cookie}`).digest('base64url') }
}

/** Makes the user in the browser the actor. Throws `forbidden` unless the form was made for their session. */
export async function requireBrowser(ctx: Ctx, request: FastifyRequest, csrf: string): Promise<Ctx> {
  checkSameOrigin(ctx, request)
  const browser = await findBrowser(ctx, request)
  if (!browser || !isSame(csrf, browser.csrf)) throw forbidden('the page is out of date, run the command again')
  return { ...ctx, actor: browser.actor }
}

function isSame(given: string, expected: string) {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}

/** How long the user may take from the password to the code. */
const PENDING_MS = 5 * 60_000
const PURPOSE = 'sign-in/second-factor'

/** Either signed in, or a signed text that proves the right password until the code comes. */
type SignInStep = { setCookie: string } | { pending: string }

/** First step of signing in on a page: the password. Throws as `checkPassword`. */
export async function startSignIn(ctx: Ctx, input: { username: string; password: string }): Promise<SignInStep> {
  const user = await checkPassword(ctx, input.username, input.password)
  if (!(await hasTwoFactor(ctx.db, user.id))) return openSession(ctx, user)
  const expiresAt = new Date(ctx.now().getTime() + PENDING_MS)
  return { pending: ctx.secrets.signPath({ purpose: PURPOSE, id: user.id, expiresAt }) }
}

/** Second step: the code. Throws `unauthorized` with a source that points at `otp` when the code is wrong. */
export async function finishSignIn(ctx: Ctx, input: { pending: string; otp: string }): Promise<SignInStep> {
  const pending = ctx.secrets.verifyPath(input.pending, PURPOSE, ctx.now())
  const user = 'id' in pending ? await findUser(ctx.db, pending.id) : undefined
  if (!user || user.suspended_at) throw unauthorized('the sign-in took too long, start again')
  await checkCode(ctx, user, input.otp)
  return openSession(ctx, user)
}

/** The command line exchanges its code at once. Five minutes allow for slow machines. */
const CODE_LIFE_MS = 5 * 60_000

/** The user in the browser consents: creates a code and returns the URL that carries it to the command line. */
export async function approve(ctx: Ctx, request: AuthorizeRequest) {
  if (ctx.actor.kind !== 'user' || ctx.actor.sessionId === undefined)
    throw forbidden('only a person in a browser can sign a command line in')
  const code = newTokenText()
  await store.insertCode(ctx.db, {
    hash: tokenHash(code),
    user_id: ctx.actor.userId,
    client_id: CLI_CLIENT.id,
    redirect_uri: request.redirectUri,
    code_challenge: request.codeChallenge,
    expires_at: new Date(ctx.now().getTime() + CODE_LIFE_MS),
  })
  return responseUrl(request, { code })
}

/** The user refuses: returns the URL that tells the command line. */
export function deny(request: AuthorizeRequest) {
  return responseUrl(request, { error: 'access_denied', error_description: 'the request was denied' })
}

type Exchange = { code: string; codeVerifier: string; redirectUri: string }

/**
 * Exchanges a code for an API token of the user who consented. A code can be used once, rightly or wrongly. A second
 * use means that another user has the code, so the token of the first use is revoked (RFC 6749 §4.1.2). Throws
 * `OAuthError`.
 */
export async function exchangeCode(ctx: Ctx, params: Record<string, unknown>): Promise<string> {
  const input = readExchange(params)
  const result = await transact(ctx, async (ctx) => consumeCode(ctx, input))
  // Thrown outside the transaction, since a failed exchange must be stored as a use too.
  if (typeof result === 'string') throw new OAuthError('invalid_grant', result)
  return result.text
}

/** The new token's text, or the error. */
async function consumeCode(ctx: TransactionCtx, input: Exchange): Promise<{ text: string } | string> {
  const hash = tokenHash(input.code)
  const row = await store.lockCode(ctx.db, hash)
  if (!row) return 'the code is unknown'
  if (row.used_at) {
    if (row.token_id !== null) await revokeToken({ ...ctx, actor: SYSTEM }, row.token_id)
    return 'the code was used before, what it gave is revoked'
  }
  await store.updateCode(ctx.db, hash, { used_at: ctx.now() })
  if (row.expires_at <= ctx.now()) return 'the code has expired'
  if (row.redirect_uri !== input.redirectUri) return 'the redirect_uri is not the one that the code was made for'
  if (!isVerifier(input.codeVerifier, row.code_challenge)) return 'the code_verifier does not fit the code_challenge'
  const user = await findUser(ctx.db, row.user_id)
  if (!user || user.suspended_at) return 'the account is suspended'
  const { token, text } = await createUserToken({ ...ctx, actor: userActor(user) }, user.id, {
    description: 'terraform login',
  })
  await store.updateCode(ctx.db, hash, { token_id: token.id })
  return { text }
}

function readExchange(params: Record<string, unknown>): Exchange {
  const required = (name: string) => {
    const value = params[name]
    if (typeof value !== 'string' || value === '') throw new OAuthError('invalid_request', `${name} is missing`)
    return value
  }
  const grantType = required('grant_type')
  if (grantType !== 'authorization_code')
    throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code')
  if (required('client_id') !== CLI_CLIENT.id)
    throw new OAuthError('invalid_client', `client_id must be ${CLI_CLIENT.id}`)
  return { code: required('code'), codeVerifier: required('code_verifier'), redirectUri: required('redirect_uri') }
}

function isVerifier(verifier: string, challenge: string) {
  const given = Buffer.from(createHash('sha256').update(verifier).digest('base64url'))
  const expected = Buffer.from(challenge)
  return given.length === expected.length && timingSafeEqual(given, expected)
}

/** An error of the token endpoint, with a code of RFC 6749 §5.2. */
export class OAuthError extends Error {
  readonly code: OAuthErrorResponse['error']

  constructor(code: OAuthError['code'], description: string) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
  }
}

const sweep = jobKind('oauth.sweep', z.object({}), { concurrency: 1, retryLimit: 0 })

export const oauthJobs = [jobHandler(sweep, async (ctx) => sweepCodes(ctx), { schedule: '43 * * * *' })]

/** Used codes are kept this long, so that a second use is recognised and revokes the token of the first. */
const CODE_MEMORY_MS = 24 * 60 * 60_000

async function sweepCodes(ctx: Ctx) {
  await store.deleteExpiredCodes(ctx.db, new Date(ctx.now().getTime() - CODE_MEMORY_MS))
}
