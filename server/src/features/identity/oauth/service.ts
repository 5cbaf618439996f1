import { createHash, timingSafeEqual } from 'node:crypto'
import type { OAuthErrorResponse } from '@groundstate/contract/discovery'
import type { FastifyRequest } from 'fastify'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM, userActor } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { isForeignKeyViolation, transact } from '../../../db/db.ts'
import { forbidden, unauthorized } from '../../../errors.ts'
import { scheduledJob } from '../../../handlers.ts'
import { checkSameOrigin, findSessionActor, sessionCookie } from '../../../http/authenticate.ts'
import { checkCode, checkPassword, openSession } from '../sessions/service.ts'
import { findTwoFactorStart } from '../sessions/store.ts'
import { createUserToken, revokeToken } from '../tokens/service.ts'
import { type UserRow, findUser } from '../users/store.ts'
import { type AuthorizeRequest, CLI_CLIENT, responseUrl } from './request.ts'
import * as store from './store.ts'

/** The signed-in user and a CSRF token for forms; undefined without a session. */
export async function findBrowser(ctx: Ctx, request: FastifyRequest) {
  const cookie = sessionCookie(request)
  const actor = cookie === undefined ? undefined : await findSessionActor(ctx, cookie)
  if (cookie === undefined || !actor) return undefined
  return { actor, csrf: createHash('sha256').update(`consent:${cookie}`).digest('base64url') }
}

/** The context with the signed-in user as the actor. Throws `forbidden` unless the form belongs to their session. */
export async function requireBrowser(ctx: Ctx, request: FastifyRequest, csrf: string): Promise<Ctx> {
  checkSameOrigin(ctx, request)
  const browser = await findBrowser(ctx, request)
  if (!browser || !isSame(csrf, browser.csrf)) throw forbidden('the page is out of date, run the command again')
  return { ...ctx, actor: browser.actor }
}

function isSame(actual: string, expected: string) {
  const [left, right] = [Buffer.from(actual), Buffer.from(expected)]
  return left.length === right.length && timingSafeEqual(left, right)
}

/** Time limit between the password and the two-factor code. */
const PENDING_MS = 5 * 60_000

/** Signed in, or `pending`: a signed proof of the correct password, to be completed with a code. */
type SignInStep = { setCookie: string } | { pending: string }

/** First step: the password. Throws as `checkPassword`. */
export async function startSignIn(ctx: Ctx, input: { username: string; password: string }): Promise<SignInStep> {
  const user = await checkPassword(ctx, input.username, input.password)
  const purpose = await pendingPurpose(ctx, user)
  if (purpose === undefined) return openSession(ctx, user)
  const expiresAt = new Date(ctx.now().getTime() + PENDING_MS)
  return { pending: ctx.secrets.signPath({ purpose, id: user.id, expiresAt }) }
}

/** Purpose of the signature, which any change of the account or its authenticator invalidates; undefined without two-factor authentication. */
async function pendingPurpose(ctx: Ctx, user: UserRow) {
  const since = await findTwoFactorStart(ctx.db, user.id)
  return since && `sign-in/second-factor/${since.getTime()}/${user.updated_at.getTime()}/${user.password_hash}`
}

/** Second step: the code. Throws as `checkCode`. */
export async function finishSignIn(ctx: Ctx, input: { pending: string; otp: string }): Promise<SignInStep> {
  const [id = ''] = input.pending.split('.', 1)
  const user = await findUser(ctx.db, id)
  const purpose = user && (await pendingPurpose(ctx, user))
  if (!user || purpose === undefined || 'problem' in ctx.secrets.verifyPath(input.pending, purpose, ctx.now()))
    throw unauthorized('the sign-in has expired, or the account has changed: start again')
  await checkCode(ctx, user, input.otp)
  return openSession(ctx, user)
}

/** The CLI exchanges its code immediately; five minutes allow for slow machines. */
const CODE_LIFE_MS = 5 * 60_000

/** Creates a code after the user's consent. Returns the URL that delivers it to the CLI. */
export async function approve(ctx: Ctx, request: AuthorizeRequest) {
  if (ctx.actor.kind !== 'user' || ctx.actor.sessionId === undefined)
    throw forbidden('only a user in a browser can authorize the CLI')
  const code = newTokenText()
  const row = {
    hash: tokenHash(code),
    user_id: ctx.actor.userId,
    session_id: ctx.actor.sessionId,
    client_id: CLI_CLIENT.id,
    redirect_uri: request.redirectUri,
    code_challenge: request.codeChallenge,
    expires_at: new Date(ctx.now().getTime() + CODE_LIFE_MS),
  }
  await store.insertCode(ctx.db, row).catch((error: unknown) => {
    throw isForeignKeyViolation(error) ? forbidden('the session has ended, run the command again') : error
  })
  return responseUrl(request, { code })
}

export function deny(request: AuthorizeRequest) {
  return responseUrl(request, { error: 'access_denied', error_description: 'the request was denied' })
}

/** Exchanges a code for an API token. A second use revokes the token of the first, since the code has leaked (RFC 6749 §4.1.2). */
export async function exchangeCode(ctx: Ctx, params: Record<string, unknown>): Promise<string> {
  const input = readExchange(params)
  const result = await transact(ctx, async (ctx) => consumeCode(ctx, input))
  // Thrown outside the transaction, because a failed exchange counts as a use.
  if (typeof result === 'string') throw new OAuthError('invalid_grant', result)
  return result.text
}

/** The new token's text, or the error. */
async function consumeCode(
  ctx: TransactionCtx,
  input: ReturnType<typeof readExchange>,
): Promise<{ text: string } | string> {
  const hash = tokenHash(input.code)
  const row = await store.lockCode(ctx.db, hash, ctx.now())
  if (!row) return 'the code is unknown'
  if (row.used_at) {
    if (row.token_id !== null) await revokeToken({ ...ctx, actor: SYSTEM }, row.token_id)
    return 'the code was already used; its token is revoked'
  }
  await store.updateCode(ctx.db, hash, { used_at: ctx.now() })
  if (row.expires_at <= ctx.now()) return 'the code has expired'
  if (!row.has_session) return 'the session that approved the code has ended'
  if (row.redirect_uri !== input.redirectUri)
    return 'the redirect_uri differs from the one of the authorization request'
  const challenge = createHash('sha256').update(input.codeVerifier).digest('base64url')
  if (!isSame(challenge, row.code_challenge)) return 'the code_verifier does not match the code_challenge'
  const user = await findUser(ctx.db, row.user_id)
  if (!user || user.suspended_at) return 'the account is suspended'
  const asUser = { ...ctx, actor: userActor(user) }
  const { token, text } = await createUserToken(asUser, user.id, { description: 'terraform login' })
  await store.updateCode(ctx.db, hash, { token_id: token.id })
  return { text }
}

function readExchange(params: Record<string, unknown>) {
  const required = (name: string) => {
    const value = params[name]
    if (typeof value !== 'string' || value === '') throw new OAuthError('invalid_request', `${name} is missing`)
    return value
  }
  if (required('grant_type') !== 'authorization_code')
    throw new OAuthError('unsupported_grant_type', 'grant_type must be authorization_code')
  if (required('client_id') !== CLI_CLIENT.id)
    throw new OAuthError('invalid_client', `client_id must be ${CLI_CLIENT.id}`)
  return { code: required('code'), codeVerifier: required('code_verifier'), redirectUri: required('redirect_uri') }
}

/** An error of the token endpoint (RFC 6749 §5.2). */
export class OAuthError extends Error {
  readonly code: OAuthErrorResponse['error']

  constructor(code: OAuthError['code'], description: string) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
  }
}

/** Retention of used codes, in which a second use is detected. */
const CODE_MEMORY_MS = 24 * 60 * 60_000

export const oauthJobs = [scheduledJob('oauth.sweep', '43 * * * *', sweepCodes, { retryLimit: 0 })]

async function sweepCodes(ctx: Ctx) {
  await store.deleteExpiredCodes(ctx.db, new Date(ctx.now().getTime() - CODE_MEMORY_MS))
}
