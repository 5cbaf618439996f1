import * as oidc from 'openid-client'
import type { Ctx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, unauthorized } from '../../../errors.ts'
import { type OpenedSession, openSession } from '../../identity/sessions/create.ts'
import { acceptInvitations } from '../organization-memberships/accept-invitations.ts'
import { type Claims, groupsOf, verifiedEmail } from './claims.ts'
import { ensureAccount } from './ensure-account.ts'
import type { PendingSignOn } from './pending.ts'
import { requireProvider } from './provider.ts'
import { syncTeams } from './sync-teams.ts'

const CALLBACK = '/auth/oidc/callback'

/** Starts a sign-in. Returns where the browser goes, and what it must remember until it comes back. */
export async function startSignOn(ctx: Ctx, returnTo: string) {
  const provider = await requireProvider(ctx)
  const verifier = oidc.randomPKCECodeVerifier()
  const pending = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier, returnTo }
  const url = oidc.buildAuthorizationUrl(provider, {
    redirect_uri: `${ctx.baseUrl}${CALLBACK}`,
    scope: ctx.config.oidcScopes,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
  })
  return { url: url.href, pending }
}

/**
 * Finishes a sign-in: exchanges the code in `query` and opens a session for the account of the person, which is made where
 * there is none. Throws `unauthorized` when the response of the provider does not belong to the sign-in that was started.
 */
export async function finishSignOn(ctx: Ctx, query: string, pending: PendingSignOn): Promise<OpenedSession> {
  const provider = await requireProvider(ctx)
  const claims = await exchange(ctx, provider, query, pending)
  const issuer = provider.serverMetadata().issuer
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const email = verifiedEmail(claims)
    const user = await ensureAccount(ctx, { issuer, subject: String(claims['sub']) }, claims)
    if (user.suspended_at) throw forbidden('this account is suspended, ask an administrator of this server')
    // The account may have another address than the one that is verified.
    if (email !== undefined && user.email?.toLowerCase() === email.toLowerCase()) await acceptInvitations(ctx, user.id)
    const groups = groupsOf(claims, ctx.config.oidcGroupClaim)
    if (groups) await syncTeams(ctx, user.id, groups)
    else ctx.log.warn({ user: user.id }, 'the provider does not send the groups of a person who is in too many')
    return openSession(ctx, user)
  })
}

async function exchange(
  ctx: Ctx,
  provider: oidc.Configuration,
  query: string,
  pending: PendingSignOn,
): Promise<Claims> {
  try {
    const tokens = await oidc.authorizationCodeGrant(provider, new URL(`${ctx.baseUrl}${CALLBACK}${query}`), {
      pkceCodeVerifier: pending.verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw unauthorized('the identity provider sent no identity')
    if (provider.serverMetadata().userinfo_endpoint === undefined) return claims
    // Many providers keep the ID token small. What it says itself is signed, and wins.
    return { ...(await oidc.fetchUserInfo(provider, tokens.access_token, claims.sub)), ...claims }
  } catch (error) {
    if (!(error instanceof oidc.ClientError || isRefusal(error))) throw error
    ctx.log.warn({ err: error }, 'sign-on')
    throw unauthorized(`the identity provider refused: ${error.message}`)
  }
}

function isRefusal(error: unknown): error is Error {
  return (
    error instanceof oidc.AuthorizationResponseError ||
    error instanceof oidc.ResponseBodyError ||
    error instanceof oidc.WWWAuthenticateChallengeError
  )
}
