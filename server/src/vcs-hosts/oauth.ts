import { z } from 'zod'
import { type HostConnection, HostError, type HostOAuth, type OAuthApplication, type OAuthGrant } from './host.ts'
import { type ApiHost, hostError, request } from './requests.ts'

export type OAuthEndpoints = {
  name: string
  connection: Pick<HostConnection, 'httpUrl' | 'fetch'>
  /** Below `httpUrl`. */
  authorizePath: string
  tokenPath: string
  /** Separated by spaces; null if the host has it from the application. */
  scope: string | null
  /** How the host expects the id and secret of the application (RFC 6749 §2.3.1). */
  credentialsIn?: 'body' | 'header'
}

const tokenResponse = z.looseObject({
  access_token: z.string().min(1),
  refresh_token: z.string().nullish(),
  /** Seconds. */
  expires_in: z.number().positive().nullish(),
})
/** GitHub reports errors with the status 200. */
const errorResponse = z.looseObject({ error: z.string(), error_description: z.string().optional() })

const isError = (body: z.infer<typeof tokenResponse | typeof errorResponse>): body is z.infer<typeof errorResponse> =>
  !('access_token' in body)

export function oauthOf(endpoints: OAuthEndpoints): HostOAuth {
  const { name, connection, authorizePath, tokenPath, scope, credentialsIn = 'body' } = endpoints
  const { httpUrl, fetch } = connection

  async function requestToken(
    { clientId, clientSecret, redirectUrl }: OAuthApplication,
    grant: { grant_type: string; code: string } | { grant_type: string; refresh_token: string },
  ): Promise<OAuthGrant> {
    const basic = Buffer.from(`${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret)}`).toString('base64')
    const host: ApiHost = {
      name,
      connection: { apiUrl: httpUrl, fetch },
      headers: credentialsIn === 'header' ? { authorization: `Basic ${basic}` } : {},
    }
    const input = {
      task: 'get a token',
      method: 'POST',
      url: `${httpUrl}${tokenPath}`,
      body: new URLSearchParams({
        ...(credentialsIn === 'body' && { client_id: clientId, client_secret: clientSecret }),
        redirect_uri: redirectUrl,
        ...grant,
      }),
      secrets: [clientSecret, 'code' in grant ? grant.code : grant.refresh_token],
    }
    const found = await request(host, z.union([tokenResponse, errorResponse]), input).catch((error: unknown) => {
      // RFC 6749 §5.2 has the status 400; GitHub answers 404 for an unknown application.
      const isRefused = error instanceof HostError && ['forbidden', 'not-found'].includes(error.kind)
      throw isRefused ? new HostError('unauthorised', error.message) : error
    })
    if (isError(found)) {
      throw hostError(host, input, {
        kind: 'unauthorised',
        reason: `refused it (${found.error_description ?? found.error})`,
      })
    }
    const { access_token: token, refresh_token: refreshToken, expires_in: expiresIn } = found
    return { token, refreshToken: refreshToken ?? null, expiresInMs: expiresIn == null ? null : expiresIn * 1000 }
  }

  return {
    authorizeUrl({ clientId, redirectUrl, state }) {
      const url = new URL(`${httpUrl}${authorizePath}`)
      const query = { client_id: clientId, redirect_uri: redirectUrl, response_type: 'code', state }
      for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
      if (scope !== null) url.searchParams.set('scope', scope)
      return url.href
    },
    exchange: async ({ code, ...application }) => requestToken(application, { grant_type: 'authorization_code', code }),
    refresh: async ({ refreshToken, ...application }) =>
      requestToken(application, { grant_type: 'refresh_token', refresh_token: refreshToken }),
  }
}
