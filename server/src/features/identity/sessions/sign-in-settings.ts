import type { SignInMethodsResource } from '@groundstate/contract/sessions'
import { SIGN_IN_DEFAULTS } from '@groundstate/contract/sign-in-settings'
import type { Ctx } from '../../../app.ts'
import { sendsMail } from '../../../mail/mail.ts'
import { sealedColumn } from '../../../secrets/sealed.ts'
import { findSignInSettings } from './store.ts'

/** An OpenID Connect provider and our client there. */
export type Provider = {
  issuer: string
  clientId: string
  /** Undefined for a public client. */
  clientSecret: string | undefined
  name: string
  scopes: string
  groupClaim: string
  /** Set by the operator, who may choose any address; requests to others pass the rules for user-supplied ones. */
  isFromEnvironment: boolean
}

export type SignInSettings = {
  provider: Provider | undefined
  passwordSignIn: boolean
  /** Whether the environment sets them, which takes precedence over what is saved. */
  isFixed: { provider: boolean; passwordSignIn: boolean }
  /** Values of the form without a provider. */
  saved: Pick<Provider, 'name' | 'scopes' | 'groupClaim'>
  updatedAt: Date | null
}

/** Context in which the client secret is sealed. */
export const sealedSignInSecret = sealedColumn(
  'sign_in_settings.client_secret',
  [],
  () => 'sign-in-settings/client-secret',
)
export const CLIENT_SECRET = sealedSignInSecret.context({})

/** Time after which a trial sign-in is deleted. Until then it proves that an administrator can sign in with the provider. */
export const TRIAL_KEPT_MS = 24 * 60 * 60_000

/** The settings in effect. They are read at each sign-in, so every replica follows a change at once. */
export async function readSignInSettings({ db, config, secrets }: Ctx): Promise<SignInSettings> {
  const row = await findSignInSettings(db)
  const saved = row
    ? { name: row.name, scopes: row.scopes, groupClaim: row.group_claim }
    : { ...SIGN_IN_DEFAULTS, groupClaim: SIGN_IN_DEFAULTS['group-claim'] }
  return {
    provider: providerOf(),
    passwordSignIn: config.passwordSignIn ?? row?.password_sign_in ?? true,
    isFixed: { provider: config.oidcIssuer !== undefined, passwordSignIn: config.passwordSignIn !== undefined },
    saved,
    updatedAt: row?.updated_at ?? null,
  }

  function providerOf(): Provider | undefined {
    if (config.oidcIssuer !== undefined) {
      return {
        issuer: config.oidcIssuer.href,
        clientId: config.oidcClientId ?? '',
        clientSecret: config.oidcClientSecret,
        name: config.oidcName,
        scopes: config.oidcScopes,
        groupClaim: config.oidcGroupClaim,
        isFromEnvironment: true,
      }
    }
    if (!row || row.issuer === null || row.client_id === null) return undefined
    const clientSecret = row.client_secret === null ? undefined : secrets.openText(row.client_secret, CLIENT_SECRET)
    return { issuer: row.issuer, clientId: row.client_id, clientSecret, ...saved, isFromEnvironment: false }
  }
}

export type SignInMethods = SignInMethodsResource['attributes']

export async function signInMethods(ctx: Ctx): Promise<SignInMethods> {
  const { provider, passwordSignIn } = await readSignInSettings(ctx)
  return {
    password: passwordSignIn,
    'password-reset': passwordSignIn && sendsMail(ctx),
    sso: provider ? { name: provider.name, url: '/auth/oidc' } : null,
  }
}
