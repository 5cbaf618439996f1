/** The only client: the Terraform and OpenTofu CLI. It has no secret and uses PKCE instead. */
export const CLI_CLIENT = {
  id: 'terraform-cli',
  /** The CLI picks a random port below the upper bound, so the range must have more than one port. */
  ports: [10_000, 10_010],
} as const

export type AuthorizeRequest = {
  redirectUri: string
  codeChallenge: string
  /** Returned unchanged. */
  state: string | undefined
}

/** Reads an authorization request (RFC 6749 §4.1.1, RFC 7636 §4.3). `refusal` is an error for a page, without a redirect (§4.1.2.1). */
export function readAuthorizeRequest(
  params: Record<string, unknown>,
): { request: AuthorizeRequest } | { refusal: string } | { redirect: string } {
  const text = (name: string) => (typeof params[name] === 'string' ? params[name] : undefined)
  if (text('client_id') !== CLI_CLIENT.id) return { refusal: `the client_id must be ${CLI_CLIENT.id}` }
  const redirectUri = text('redirect_uri')
  if (redirectUri === undefined || !isRedirectUri(redirectUri)) {
    const [first, last] = CLI_CLIENT.ports
    return { refusal: `the redirect_uri must be http://localhost:PORT/login with a port from ${first} to ${last}` }
  }
  const state = text('state')
  const refuse = (error: string, description: string) => ({
    redirect: responseUrl({ redirectUri, state }, { error, error_description: description }),
  })
  const repeated = Object.entries(params).find(([, value]) => typeof value !== 'string')
  if (repeated) return refuse('invalid_request', `${repeated[0]} is repeated`)
  const type = text('response_type')
  if (type === undefined) return refuse('invalid_request', 'response_type is missing')
  if (type !== 'code') return refuse('unsupported_response_type', 'response_type must be code')
  if (text('code_challenge_method') !== 'S256') return refuse('invalid_request', 'code_challenge_method must be S256')
  const codeChallenge = text('code_challenge')
  // The SHA-256 of the verifier, base64url without padding.
  if (codeChallenge === undefined || !/^[\w-]{43}$/.test(codeChallenge))
    return refuse('invalid_request', 'code_challenge must be 43 characters of base64url')
  return { request: { redirectUri, codeChallenge, state } }
}

export function authorizeQuery({ redirectUri, codeChallenge, state }: AuthorizeRequest) {
  return new URLSearchParams({
    client_id: CLI_CLIENT.id,
    redirect_uri: redirectUri,
    response_type: 'code',
    code_challenge: codeChallenge,
    code_challenge_method: 'S256',
    ...(state !== undefined && { state }),
  }).toString()
}

type Client = Pick<AuthorizeRequest, 'redirectUri' | 'state'>

export function responseUrl({ redirectUri, state }: Client, response: Record<string, string>) {
  return `${redirectUri}?${new URLSearchParams({ ...response, ...(state !== undefined && { state }) }).toString()}`
}

/** Accepts only the user's machine, with a port in the range that discovery announces. */
function isRedirectUri(text: string) {
  const port = Number(/^http:\/\/(?:localhost|127\.0\.0\.1):(\d{1,5})\/login$/.exec(text)?.[1])
  return port >= CLI_CLIENT.ports[0] && port <= CLI_CLIENT.ports[1]
}
