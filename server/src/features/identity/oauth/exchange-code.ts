import { createHash, timingSafeEqual } from 'node:crypto'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM, userActor } from '../../../auth/actor.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { transact } from '../../../db/db.ts'
import { createUserToken } from '../tokens/create.ts'
import { revokeToken } from '../tokens/revoke.ts'
import { findUser } from '../users/store.ts'
import { OAuthError } from './oauth-error.ts'
import { CLI_CLIENT } from './request.ts'
import * as store from './store.ts'

type Exchange = { code: string; codeVerifier: string; redirectUri: string }

/**
 * Exchanges a code for an API token of the user who consented. A code can be used once, rightly or wrongly. A second
 * use means that somebody else has the code, so the token of the first use is revoked (RFC 6749 §4.1.2). Throws
 * `OAuthError`.
 */
export async function exchangeCode(ctx: Ctx, params: Record<string, unknown>): Promise<string> {
  const input = readExchange(params)
  const result = await transact(ctx, async (ctx) => consumeCode(ctx, input))
  // Thrown outside the transaction, since a failed exchange must be stored as a use too.
  if (typeof result === 'string') throw new OAuthError('invalid_grant', result)
  return result.text
}

/** The new token's text, or what is wrong. */
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
