import { createHash, timingSafeEqual } from 'node:crypto'
import type { OAuthErrorAnswer } from '@groundstate/contract/oauth'
import type { Ctx } from '../../../app.ts'
import { SYSTEM, userActor } from '../../../auth/actor.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { forbidden } from '../../../errors.ts'
import { answerUrl, type AuthorizeRequest, CLI_CLIENT } from './request.ts'
import * as store from './store.ts'
import { createUserToken, revokeToken } from '../tokens/user-tokens.ts'
import { findUser } from '../users/store.ts'
/** The browser follows the redirect at once; five minutes are for slow machines. */
const CODE_LIFE_MS = 5 * 60_000
/** Used codes are remembered this long, so that a second use is recognised and ends what the first one gave. */
const CODE_MEMORY_MS = 24 * 60 * 60_000

/** An error of the token endpoint, in the words of RFC 6749 §5.2. */
export class OAuthError extends Error {
  readonly code: OAuthErrorAnswer['error']

  constructor(code: OAuthError['code'], description: string) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
  }
}

/** The person in the browser consents: makes a code and returns where it goes. */
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
  return answerUrl(request, { code })
}

/** The person refuses. */
export function deny(request: AuthorizeRequest) {
  return answerUrl(request, { error: 'access_denied', error_description: 'the request was denied' })
}

type Exchange = { code: string; codeVerifier: string; redirectUri: string }

/**
 * Exchanges a code for an API token of the user who consented. A code works once, right or wrong; when it comes a second
 * time, somebody else has it too, and the token of the first time is revoked (RFC 6749 §4.1.2).
 */
export async function exchangeCode(ctx: Ctx, params: Record<string, unknown>): Promise<string> {
  const input = readExchange(params)
  const hash = tokenHash(input.code)
  const result = await transact(ctx, async (ctx) => {
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
  })
  // Returned and not thrown inside, since even a wrong exchange must leave its mark.
  if (typeof result === 'string') throw new OAuthError('invalid_grant', result)
  return result.text
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
  const wanted = Buffer.from(challenge)
  return given.length === wanted.length && timingSafeEqual(given, wanted)
}

export async function sweepCodes(ctx: Ctx) {
  await store.deleteExpiredCodes(ctx.db, new Date(ctx.now().getTime() - CODE_MEMORY_MS))
}
