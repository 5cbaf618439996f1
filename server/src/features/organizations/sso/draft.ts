import { PROVIDER_ATTRIBUTES, type SignInInput } from '@groundstate/contract/sign-in-settings'
import type { Ctx } from '../../../app.ts'
import { invalid } from '../../../errors.ts'
import type { Provider, SignInSettings } from '../../identity/sessions/sign-in-settings.ts'

/** Settings in effect, and when a trial proved them. */
export type ShownSettings = SignInSettings & { provedAt: Date | undefined }

/** The settings in effect after a change. */
export type Draft = Pick<SignInSettings, 'provider' | 'passwordSignIn'> & { form: SignInSettings['saved'] }

/** JSON pointer to an attribute of the body. */
export const pointerTo = (name: keyof SignInInput) => `/data/attributes/${name}`

/** Applies a change. Throws `invalid` for attributes that the environment sets, and for an incomplete provider. */
export function mergeDraft(ctx: Ctx, settings: SignInSettings, input: SignInInput): Draft {
  checkFree(settings, input)
  const { provider: saved, isFixed } = settings
  const passwordSignIn = input['password-sign-in'] ?? settings.passwordSignIn
  const form = {
    name: input.name ?? settings.saved.name,
    scopes: input.scopes ?? settings.saved.scopes,
    groupClaim: input['group-claim'] ?? settings.saved.groupClaim,
  }
  if (isFixed.provider) return { provider: saved, passwordSignIn, form }
  const issuer = input.issuer === undefined ? saved?.issuer : (input.issuer ?? undefined)
  if (issuer === undefined) {
    if (input['client-id'] !== undefined && input.issuer === undefined)
      throw invalid('issuer is missing: the URL of the OpenID Connect provider', pointerTo('issuer'))
    return { provider: undefined, passwordSignIn, form }
  }
  const problem = ctx.outbound.problem(issuer) ?? (/[?#]/.test(issuer) ? 'it must not contain ? or #' : undefined)
  if (input.issuer && problem !== undefined) throw invalid(`issuer cannot be used: ${problem}`, pointerTo('issuer'))
  const clientId = input['client-id'] ?? saved?.clientId
  if (clientId === undefined)
    throw invalid('client-id is missing: the id of this server at the provider', pointerTo('client-id'))
  const clientSecret =
    input['client-secret'] === undefined ? saved?.clientSecret : (input['client-secret'] ?? undefined)
  // Otherwise the secret could be sent to the server of someone who may only change the settings.
  const isOther = saved && (new URL(saved.issuer).href !== new URL(issuer).href || saved.clientId !== clientId)
  if (isOther && saved.clientSecret !== undefined && input['client-secret'] === undefined) {
    throw invalid(
      `client-secret is missing: the saved one belongs to ${saved.clientId} at ${saved.issuer}; null is for a public client`,
      pointerTo('client-secret'),
    )
  }
  return { provider: { issuer, clientId, clientSecret, ...form, isFromEnvironment: false }, passwordSignIn, form }
}

function checkFree({ isFixed }: SignInSettings, input: SignInInput) {
  const fixed = fixedAttributes(isFixed).find((name) => input[name] !== undefined)
  if (fixed === undefined) return
  const variable = fixed === 'password-sign-in' ? 'GROUNDSTATE_PASSWORD_SIGN_IN' : 'GROUNDSTATE_OIDC_ISSUER'
  throw invalid(`${fixed} cannot be changed here: the server was started with ${variable}`, pointerTo(fixed))
}

export function fixedAttributes({ provider, passwordSignIn }: SignInSettings['isFixed']) {
  return [...(provider ? PROVIDER_ATTRIBUTES : []), ...(passwordSignIn ? (['password-sign-in'] as const) : [])]
}

/** Equal for settings with which the same users can sign in. */
export function fingerprintOf(ctx: Ctx, { issuer, clientId, clientSecret, scopes }: Provider) {
  const content = JSON.stringify([new URL(issuer).href, clientId, clientSecret ?? null, scopes])
  return ctx.secrets.digest(content, 'sign-in-settings')
}
