import * as oidc from 'openid-client'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, unauthorized } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { acceptInvitations } from '../organization-memberships/service.ts'
import { endSessions, type OpenedSession, openSession } from '../../identity/sessions/service.ts'
import { insertUser, updateUser, userAudit } from '../../identity/users/service.ts'
import { type Claims, groupsOf, usernameOf, verifiedEmail } from './claims.ts'
import type { PendingSignOn } from './pending.ts'
import { requireProvider } from './provider.ts'
import * as store from './store.ts'
import { syncTeams } from './teams.ts'
import { recordAudit } from '../../../audit/record.ts'
import { removeSecondFactor } from '../../identity/sessions/second-factor.ts'
import { findUser, findUserByLogin, type UserRow } from '../../identity/users/store.ts'

const CALLBACK = '/auth/oidc/callback'

/** Begins to sign in: where the browser goes, and what must be remembered until it comes back. */
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
 * Ends to sign in: exchanges the code in `query` and opens a session for the account of the person, which is made where
 * there is none. Throws `unauthorized` when the provider or the browser tell another story than we began with.
 */
export async function finishSignOn(ctx: Ctx, query: string, pending: PendingSignOn): Promise<OpenedSession> {
  const provider = await requireProvider(ctx)
  const claims = await exchange(ctx, provider, query, pending)
  const issuer = provider.serverMetadata().issuer
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const email = verifiedEmail(claims)
    const user = await establishAccount(ctx, { issuer, subject: String(claims['sub']) }, claims)
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

/**
 * The account of a person at the provider. Whoever comes for the first time gets the account that has their address, if
 * the provider has verified that, else a new one; never an account by its name alone.
 */
async function establishAccount(ctx: TransactionCtx, identity: store.Identity, claims: Claims): Promise<UserRow> {
  const now = ctx.now()
  const known = await store.findIdentity(ctx.db, identity)
  if (known) {
    await store.touchIdentity(ctx.db, identity, now)
    const user = await findUser(ctx.db, known.user_id)
    if (user) return user
  }
  const email = verifiedEmail(claims)
  const existing = email === undefined ? undefined : await findUserByLogin(ctx.db, email)
  if (existing && (await store.hasIdentity(ctx.db, identity.issuer, existing.id))) {
    // Addresses are handed on to newcomers; accounts are not.
    throw forbidden(
      'the account with your address belongs to somebody else at the identity provider: ask an administrator',
    )
  }
  const user = existing
    ? await convertAccount(ctx, existing.id)
    : await insertUser(ctx, { username: await freeUsername(ctx, claims), email: email ?? null, passwordHash: null })
  // To link an account that was there gives somebody access to it, so it is told apart.
  await recordAudit(ctx, userAudit(existing ? 'link_identity' : 'create', user, { via: 'sign-on' }))
  await store.insertIdentity(ctx.db, identity, { userId: user.id, now })
  return user
}

/**
 * Makes an account one of sign-on: what it signed in with before ends, so that nothing gets around what the provider asks
 * for. Its API tokens stay.
 */
async function convertAccount(ctx: TransactionCtx, id: string) {
  await removeSecondFactor(ctx, id)
  await endSessions(ctx, id)
  return updateUser(ctx, id, { auth_method: 'sso', password_hash: null, unconfirmed_email: null })
}

async function freeUsername(ctx: Ctx, claims: Claims) {
  const username = usernameOf(claims)
  return (await findUserByLogin(ctx.db, username)) ? `${username}-${randomText(6)}` : username
}
