import type { SignInInput, TrialResult } from '@groundstate/contract/sign-in-settings'
import type { Ctx } from '../../../app.ts'
import { actorUserId, checkSiteAdmin } from '../../../auth/actor.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import { randomText } from '../../../ids.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { type Provider, readSignInSettings } from '../../identity/sessions/sign-in-settings.ts'
import { findUser, findUserByLogin } from '../../identity/users/store.ts'
import { type Claims, groupsOf, verifiedEmail } from './claims.ts'
import { fingerprintOf, mergeDraft } from './draft.ts'
import { type PendingSignOn, type ProviderClient, connectProvider } from './provider.ts'
import { authorizationRequest, exchangeCode, freeUsername, identityOf } from './service.ts'
import * as store from './store.ts'

/** Time in which a trial must be finished. */
export const TRIAL_TTL_MS = 15 * 60_000
const MAX_CLAIMS_LENGTH = 64 * 1024
const MAX_GROUPS = 1000

/** A trial with its opened result. */
export type Trial = { row: store.TrialRow; result: TrialResult | undefined }

/** Prepares a trial sign-in with the saved settings and the changes in `input`. It changes neither accounts nor settings. */
export async function createTrial(ctx: Ctx, input: SignInInput): Promise<Trial> {
  checkSiteAdmin(ctx)
  const provider = await requireDraftProvider(ctx, input)
  const now = ctx.now()
  // Anyone who knows the id can start the trial, so it is longer than other ids.
  const id = `trial-${randomText(32)}`
  const row = await store.insertTrial(ctx.db, {
    id,
    user_id: actorUserId(ctx.actor) ?? '',
    settings: ctx.secrets.seal(JSON.stringify(provider), settingsContext(id)),
    fingerprint: fingerprintOf(ctx, provider),
    created_at: now,
  })
  return { row, result: undefined }
}

/** The provider of a draft. Throws `invalid` if there is none. */
export async function requireDraftProvider(ctx: Ctx, input: SignInInput): Promise<Provider> {
  const { provider } = mergeDraft(ctx, await readSignInSettings(ctx), input)
  if (!provider) throw invalid('issuer is missing: the URL of the OpenID Connect provider', '/data/attributes/issuer')
  return provider
}

export async function requireTrial(ctx: Ctx, id: string): Promise<Trial> {
  checkSiteAdmin(ctx)
  const row = await store.findTrial(ctx.db, id)
  if (!row) throw notFound('sign-in trial')
  const result = row.result === null ? undefined : ctx.secrets.openText(row.result, resultContext(id))
  return { row, result: result === undefined ? undefined : (JSON.parse(result) as TrialResult) }
}

/** Starts the sign-in of a trial in a browser, like `startSignOn`. */
export async function startTrial(ctx: Ctx, id: string) {
  const trial = await requirePendingTrial(ctx, id)
  const returnTo = `/app/admin/sign-in?${new URLSearchParams({ trial: id }).toString()}`
  return authorizationRequest(ctx, await connectProvider(ctx, trial.provider), { returnTo, trial: id })
}

/** Stores what the provider reported, or why the sign-in failed. Opens no session. */
export async function finishTrial(ctx: Ctx, query: string, pending: PendingSignOn & { trial: string }) {
  const { provider } = await requirePendingTrial(ctx, pending.trial)
  const result = await resultOf(ctx, provider, { query, pending }).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error
    return { ...NO_RESULT, error: error.message }
  })
  const { account, error } = result
  await store.finishTrial(ctx.db, pending.trial, {
    result: ctx.secrets.seal(JSON.stringify(result), resultContext(pending.trial)),
    proves_sign_in: error === null && account !== null && account['is-admin'] && isSignIn(account.outcome),
    finished_at: ctx.now(),
  })
}

async function requirePendingTrial(ctx: Ctx, id: string) {
  const row = await store.findTrial(ctx.db, id)
  if (!row || row.finished_at || ctx.now().getTime() - row.created_at.getTime() > TRIAL_TTL_MS)
    throw notFound('pending sign-in trial')
  const provider = JSON.parse(ctx.secrets.openText(row.settings, settingsContext(id))) as Provider
  return { row, provider }
}

const NO_RESULT: TrialResult = {
  error: null,
  subject: null,
  email: null,
  'email-verified': false,
  groups: [],
  teams: [],
  account: null,
  claims: {},
}

async function resultOf(
  ctx: Ctx,
  provider: Provider,
  response: { query: string; pending: PendingSignOn },
): Promise<TrialResult> {
  const client = await connectProvider(ctx, provider)
  const claims = await exchangeCode(ctx, client, response)
  const account = await accountOf(ctx, client, claims)
  const groups = groupsOf(claims, provider.groupClaim)?.slice(0, MAX_GROUPS)
  // In the hosted edition a team's name must not add members from outside the organization.
  const everywhere = ctx.config.edition === 'self-managed'
  const teams = groups ? await store.listTeamsOfGroups(ctx.db, { userId: account.id ?? '', groups, everywhere }) : []
  const isShort = JSON.stringify(claims).length <= MAX_CLAIMS_LENGTH
  return {
    error: null,
    subject: String(claims['sub']),
    email: typeof claims['email'] === 'string' ? claims['email'] : null,
    'email-verified': verifiedEmail(claims) !== undefined,
    groups: groups ?? null,
    teams: teams.map(({ id, name, organization_name: organization }) => ({ id, name, organization })),
    account,
    claims: isShort ? claims : { sub: claims['sub'] },
  }
}

type Account = NonNullable<TrialResult['account']>

/** The account that a sign-in with these claims would use. */
async function accountOf(ctx: Ctx, client: ProviderClient, claims: Claims): Promise<Account> {
  const identity = identityOf(client, claims)
  const known = await store.findIdentity(ctx.db, identity)
  const email = verifiedEmail(claims)
  const linked = known && (await findUser(ctx.db, known.user_id))
  const user = linked ?? (email === undefined ? undefined : await findUserByLogin(ctx.db, email))
  if (!user) {
    const username = await freeUsername(ctx, claims)
    return { outcome: 'create', id: null, username, 'is-admin': false, 'is-suspended': false }
  }
  const isTaken = !linked && (await store.hasIdentity(ctx.db, identity.issuer, user.id))
  return {
    outcome: isTaken || user.suspended_at ? 'refuse' : linked ? 'sign-in' : 'link',
    id: user.id,
    username: user.username,
    'is-admin': user.is_site_admin,
    'is-suspended': user.suspended_at !== null,
  }
}

function isSignIn(outcome: Account['outcome']) {
  return outcome === 'sign-in' || outcome === 'link'
}

export const sealedTrialSettings = sealedColumn(
  'sign_in_trials.settings',
  ['id'],
  ({ id }) => `sign-in-trials/${id}/settings`,
)
export const sealedTrialResult = sealedColumn(
  'sign_in_trials.result',
  ['id'],
  ({ id }) => `sign-in-trials/${id}/result`,
)
const settingsContext = (id: string) => sealedTrialSettings.context({ id })
const resultContext = (id: string) => sealedTrialResult.context({ id })
