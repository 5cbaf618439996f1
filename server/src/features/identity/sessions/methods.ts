import type { Ctx } from '../../../app.ts'

export type SignInMethods = {
  password: boolean
  /** The identity provider to sign in with: its name for people, and the path to open. */
  sso: { name: string; url: string } | null
}

/** The ways to sign in that this server offers, for the pages and the API. */
export function signInMethods({ config }: Ctx): SignInMethods {
  return {
    password: config.passwordSignIn,
    sso: config.oidcIssuer === undefined ? null : { name: config.oidcName, url: '/auth/oidc' },
  }
}
