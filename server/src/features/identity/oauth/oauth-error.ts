import type { OAuthErrorAnswer } from '@groundstate/contract/oauth'

/** An error of the token endpoint, with a code of RFC 6749 §5.2. */
export class OAuthError extends Error {
  readonly code: OAuthErrorAnswer['error']

  constructor(code: OAuthError['code'], description: string) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
  }
}
