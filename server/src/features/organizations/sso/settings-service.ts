import { SIGN_IN_DEFAULTS, type SignInInput } from '@groundstate/contract/sign-in-settings'
import type { Ctx } from '../../../app.ts'
import { recordAudit } from '../../../audit/record.ts'
import { checkSiteAdmin } from '../../../auth/actor.ts'
import { transact } from '../../../db/db.ts'
import { invalid } from '../../../errors.ts'
import {
  CLIENT_SECRET,
  type Provider,
  type SignInSettings,
  TRIAL_KEPT_MS,
  readSignInSettings,
} from '../../identity/sessions/sign-in-settings.ts'
import { findSignInSettings } from '../../identity/sessions/store.ts'
import { type Draft, type ShownSettings, fingerprintOf, mergeDraft, pointerTo } from './draft.ts'
import * as store from './store.ts'

export async function showSignInSettings(ctx: Ctx): Promise<ShownSettings> {
  checkSiteAdmin(ctx)
  const settings = await readSignInSettings(ctx)
  return { ...settings, provedAt: settings.provider && (await findProof(ctx, settings.provider)) }
}

/** Saves the attributes of `input`. Disabling passwords, or changing the provider while they are disabled, requires a trial. */
export async function updateSignInSettings(ctx: Ctx, input: SignInInput): Promise<ShownSettings> {
  checkSiteAdmin(ctx)
  await transact(ctx, async (ctx) => {
    await store.lockSignInSettings(ctx.db)
    const settings = await readSignInSettings(ctx)
    const draft = mergeDraft(ctx, settings, input)
    await checkSignInPossible(ctx, settings, draft)
    const saved = await findSignInSettings(ctx.db)
    // Sealing it again would look like a change.
    const isSecretKept = settings.isFixed.provider || (draft.provider && input['client-secret'] === undefined)
    const secret = draft.provider?.clientSecret
    const sealed = secret === undefined ? null : ctx.secrets.seal(secret, CLIENT_SECRET)
    const columns = {
      // What the environment overrides stays as it was saved.
      ...(settings.isFixed.provider ? (saved ?? DEFAULTS) : providerColumns(draft)),
      client_secret: isSecretKept ? (saved?.client_secret ?? null) : sealed,
      password_sign_in: settings.isFixed.passwordSignIn ? (saved?.password_sign_in ?? true) : draft.passwordSignIn,
      updated_at: ctx.now(),
    }
    await store.saveSignInSettings(ctx.db, columns)
    await recordAudit(ctx, {
      organizationId: undefined,
      action: 'update',
      resource: { type: 'sign_in_settings', id: 'sign-in-settings' },
      meta: { changes: Object.keys(input) },
      settings: { before: saved ?? DEFAULTS, columns },
      notices: [],
    })
  })
  return showSignInSettings(ctx)
}

/** Columns of settings that were never saved. */
const DEFAULTS = {
  issuer: null,
  client_id: null,
  client_secret: null,
  name: SIGN_IN_DEFAULTS.name,
  scopes: SIGN_IN_DEFAULTS.scopes,
  group_claim: SIGN_IN_DEFAULTS['group-claim'],
  password_sign_in: true,
}

function providerColumns({ provider, form }: Draft) {
  return {
    issuer: provider?.issuer ?? null,
    client_id: provider?.clientId ?? null,
    name: form.name,
    scopes: form.scopes,
    group_claim: form.groupClaim,
  }
}

async function checkSignInPossible(ctx: Ctx, before: SignInSettings, { provider, passwordSignIn }: Draft) {
  if (passwordSignIn || before.isFixed.passwordSignIn) return
  if (!provider) {
    const pointer = pointerTo(before.passwordSignIn ? 'password-sign-in' : 'issuer')
    throw invalid('without passwords and a provider users could not sign in: enable passwords', pointer)
  }
  const isSame = before.provider && fingerprintOf(ctx, before.provider) === fingerprintOf(ctx, provider)
  if (!before.passwordSignIn && isSame) return
  if (await findProof(ctx, provider)) return
  throw invalid(
    'no administrator has signed in with these settings in a trial within the last 24 hours: passwords stay enabled until one has, so that nobody is locked out',
    pointerTo('password-sign-in'),
  )
}

async function findProof(ctx: Ctx, provider: Provider) {
  const since = new Date(ctx.now().getTime() - TRIAL_KEPT_MS)
  return store.findProof(ctx.db, fingerprintOf(ctx, provider), since)
}
