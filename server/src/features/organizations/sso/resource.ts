import type { SignInSettingsResource, SignInTrialResource } from '@groundstate/contract/sign-in-settings'
import type { Ctx } from '../../../app.ts'
import { type ShownSettings, fixedAttributes } from './draft.ts'
import { redirectUri } from './provider.ts'
import { TRIAL_TTL_MS, type Trial } from './trials.ts'

export function signInSettingsResource(ctx: Ctx, settings: ShownSettings): SignInSettingsResource {
  const { provider, saved, isFixed } = settings
  const { name, scopes, groupClaim } = provider ?? saved
  return {
    id: 'sign-in-settings',
    type: 'sign-in-settings',
    attributes: {
      issuer: provider?.issuer ?? null,
      'client-id': provider?.clientId ?? null,
      'client-secret': null,
      'has-client-secret': provider?.clientSecret !== undefined,
      name,
      scopes,
      'group-claim': groupClaim,
      'password-sign-in': settings.passwordSignIn,
      'redirect-uri': redirectUri(ctx),
      'fixed-attributes': fixedAttributes(isFixed),
      'proved-at': settings.provedAt ?? null,
      'updated-at': settings.updatedAt,
    },
    links: { self: '/api/v2/admin/sign-in-settings' },
  }
}

export function signInTrialResource(ctx: Ctx, { row, result }: Trial): SignInTrialResource {
  const isExpired = ctx.now().getTime() - row.created_at.getTime() > TRIAL_TTL_MS
  return {
    id: row.id,
    type: 'sign-in-trials',
    attributes: {
      status: result ? (result.error === null ? 'succeeded' : 'failed') : isExpired ? 'expired' : 'pending',
      url: `/auth/oidc?${new URLSearchParams({ trial: row.id }).toString()}`,
      result: result ?? null,
      'proves-sign-in': row.proves_sign_in,
      'created-at': row.created_at,
      'finished-at': row.finished_at,
    },
    links: { self: `/api/v2/admin/sign-in-trials/${row.id}` },
  }
}
