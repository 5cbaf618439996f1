import * as oidc from 'openid-client'
import type { Ctx, TransactionCtx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { SYSTEM } from '../../../auth/actor.ts'
import { announce, announceAccess } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { forbidden, unauthorized } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { type OpenedSession, endSessions, openSession } from '../../identity/sessions/service.ts'
import { removeTwoFactor } from '../../identity/sessions/two-factor.ts'
import { userAudit } from '../../identity/users/resource.ts'
import { createUser, updateUser } from '../../identity/users/service.ts'
import { type UserRow, findUser, findUserByLogin } from '../../identity/users/store.ts'
import { acceptInvitations, insertMembership } from '../organization-memberships/service.ts'
import { teamAudit } from '../teams/access.ts'
import { isLastOwner } from '../teams/service.ts'
import { deleteTeamMembers, insertTeamMembers } from '../teams/store.ts'
import { type Claims, groupsOf, usernameOf, verifiedEmail } from './claims.ts'
import { type PendingSignOn, type ProviderClient, redirectUri, refusalReason, requireProvider } from './provider.ts'
import * as store from './store.ts'

/** Starts a sign-in. Returns the provider's URL, and the state to store in the browser. */
export async function startSignOn(ctx: Ctx, returnTo: string) {
  return authorizationRequest(ctx, await requireProvider(ctx), { returnTo })
}

/** The provider's URL for a sign-in, and the state to store in the browser. */
export async function authorizationRequest(
  ctx: Ctx,
  { configuration, provider }: ProviderClient,
  target: Pick<PendingSignOn, 'returnTo' | 'trial'>,
) {
  const verifier = oidc.randomPKCECodeVerifier()
  const pending = { state: oidc.randomState(), nonce: oidc.randomNonce(), verifier, ...target }
  const url = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: redirectUri(ctx),
    scope: provider.scopes,
    code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
    code_challenge_method: 'S256',
    state: pending.state,
    nonce: pending.nonce,
  })
  return { url: url.href, pending }
}

/** Exchanges the code in `query` and opens a session, for a new account if needed. Throws `unauthorized` for a foreign response. */
export async function finishSignOn(ctx: Ctx, query: string, pending: PendingSignOn): Promise<OpenedSession> {
  const client = await requireProvider(ctx)
  const claims = await exchangeCode(ctx, client, { query, pending })
  const identity = identityOf(client, claims)
  return transact({ ...ctx, actor: SYSTEM }, async (ctx) => {
    const email = verifiedEmail(claims)
    const user = await ensureAccount(ctx, identity, claims)
    if (user.suspended_at) throw forbidden('this account is suspended, ask an administrator of this server')
    // The account may have another address than the verified one.
    if (email !== undefined && user.email?.toLowerCase() === email.toLowerCase()) await acceptInvitations(ctx, user.id)
    const groups = groupsOf(claims, client.provider.groupClaim)
    if (groups) await syncTeams(ctx, user.id, groups)
    else ctx.log.warn({ user: user.id }, 'the provider omits the groups of a user with too many groups')
    return openSession(ctx, user)
  })
}

export function identityOf({ configuration }: ProviderClient, claims: Claims): store.Identity {
  return { issuer: configuration.serverMetadata().issuer, subject: String(claims['sub']) }
}

type Response = { query: string; pending: PendingSignOn }

/** The claims of the user who signed in. Throws `unauthorized` if the provider or its response is not right. */
export async function exchangeCode(
  ctx: Ctx,
  { configuration }: ProviderClient,
  { query, pending }: Response,
): Promise<Claims> {
  try {
    const tokens = await oidc.authorizationCodeGrant(configuration, new URL(`${redirectUri(ctx)}${query}`), {
      pkceCodeVerifier: pending.verifier,
      expectedState: pending.state,
      expectedNonce: pending.nonce,
      idTokenExpected: true,
    })
    const claims = tokens.claims()
    if (!claims) throw unauthorized('the identity provider returned no ID token')
    if (configuration.serverMetadata().userinfo_endpoint === undefined) return claims
    // Many providers keep the ID token small. Its own claims are signed and take precedence.
    return { ...(await oidc.fetchUserInfo(configuration, tokens.access_token, claims.sub)), ...claims }
  } catch (error) {
    const reason = refusalReason(error)
    if (reason === undefined) throw error
    ctx.log.warn({ err: error }, 'single sign-on failed')
    throw unauthorized(`the identity provider rejected the sign-in: ${reason}`)
  }
}

/** The account of an identity. A first sign-in links the account with the verified address, else creates one; never links by name. */
async function ensureAccount(ctx: TransactionCtx, identity: store.Identity, claims: Claims): Promise<UserRow> {
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
    // A provider may reassign an address to another person; accounts are not reassigned.
    throw forbidden(
      'the account with your address belongs to another user of the identity provider: ask an administrator',
    )
  }
  const user = existing
    ? await convertAccount(ctx, existing.id)
    : await createUser(ctx, { username: await freeUsername(ctx, claims), email: email ?? null, passwordHash: null })
  // Linking gives access to an existing account, so it has its own audit action.
  await recordAudit(ctx, userAudit(existing ? 'link_identity' : 'create', user, { via: 'sign-on' }))
  await store.insertIdentity(ctx.db, { ...identity, user_id: user.id, created_at: now, last_sign_in_at: now })
  return user
}

/** Turns an account into an SSO account without other credentials, which would bypass the provider. API tokens stay valid. */
async function convertAccount(ctx: TransactionCtx, id: string) {
  await removeTwoFactor(ctx, id)
  await endSessions(ctx, id)
  return updateUser(ctx, id, { auth_method: 'sso', password_hash: null, unconfirmed_email: null })
}

export async function freeUsername(ctx: Ctx, claims: Claims) {
  const username = usernameOf(claims)
  return (await findUserByLogin(ctx.db, username)) ? `${username}-${randomText(6)}` : username
}

/** Synchronises teams with the groups. Memberships granted by users stay, and so does the last owner of an organization. */
async function syncTeams(ctx: TransactionCtx, userId: string, groups: readonly string[]) {
  // In the hosted edition a team's name must not add members from outside the organization.
  const everywhere = ctx.config.edition === 'self-managed'
  const expected = await store.listTeamsOfGroups(ctx.db, { userId, groups, everywhere })
  const current = await store.listTeamsOfUser(ctx.db, userId)
  for (const team of expected) {
    if (current.some(({ id }) => id === team.id)) continue
    await insertMembership(ctx, { organizationId: team.organization_id, userId, viaSso: true })
    await insertTeamMembers(ctx.db, { teamIds: [team.id], userIds: [userId], now: ctx.now(), viaSso: true })
    await record(ctx, 'add_member', team, userId)
  }
  for (const team of current) {
    if (!team.via_sso || expected.some(({ id }) => id === team.id)) continue
    if (team.is_owners && (await isLastOwner(ctx, team.organization_id, userId))) {
      ctx.log.warn({ organization: team.organization_id, user: userId }, 'single sign-on keeps the last owner')
      continue
    }
    await deleteTeamMembers(ctx.db, [team.id], [userId])
    await record(ctx, 'remove_member', team, userId)
  }
  for (const { id, organization_id: organization } of await store.deleteLeftMemberships(ctx.db, userId)) {
    announce(ctx, { organization, type: 'organization-memberships', id })
    announceAccess(ctx, organization)
  }
}

async function record(ctx: TransactionCtx, action: string, team: store.SsoTeam, userId: string) {
  await recordAudit(ctx, teamAudit(team, action, { members: [userId], via: 'sign-on' }))
}
