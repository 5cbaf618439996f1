import type { OAuthErrorResponse } from '@groundstate/contract/discovery'

/** An error of the token endpoint, with a code of RFC 6749 §5.2. */
export class OAuthError extends Error {
  readonly code: OAuthErrorResponse['error']

  constructor(code: OAuthError['code'], description: string) {
    super(description)
    this.name = 'OAuthError'
    this.code = code
  }
}
