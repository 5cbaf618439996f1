import { SERVICE_PROVIDERS, type ServiceProvider } from '@groundstate/contract/oauth-clients'
import { describe, expect, test } from 'vitest'
import { hostOf } from './list.ts'
import { type HostReply, startFakeHost } from './testing/fake-host.ts'

const APPLICATION = {
  clientId: 'the-id',
  clientSecret: 'the-secret',
  redirectUrl: 'https://groundstate.example/auth/c1/callback',
}
const PROVIDERS = Object.keys(SERVICE_PROVIDERS) as ServiceProvider[]

/** Endpoints by the documentation of the hosts, and where they expect the credentials of the application. */
const ENDPOINTS = [
  ['github', '/login/oauth/authorize', '/login/oauth/access_token', 'body', 'repo read:org'],
  ['github_enterprise', '/login/oauth/authorize', '/login/oauth/access_token', 'body', 'repo read:org'],
  ['gitlab_hosted', '/oauth/authorize', '/oauth/token', 'body', 'api'],
  ['gitlab_community_edition', '/oauth/authorize', '/oauth/token', 'body', 'api'],
  ['bitbucket_hosted', '/site/oauth2/authorize', '/site/oauth2/access_token', 'header', null],
  [
    'gitea',
    '/login/oauth/authorize',
    '/login/oauth/access_token',
    'body',
    'read:user read:organization write:repository write:issue',
  ],
] as const

async function connect(provider: ServiceProvider, tokenPath: string, reply: HostReply) {
  const host = await startFakeHost({ [`POST ${tokenPath}`]: () => reply })
  const oauth = hostOf(provider).oauth?.(host.connection)
  if (!oauth) throw new Error(`${provider} has OAuth`)
  return { host, oauth }
}

test.each(PROVIDERS)('%s connects by OAuth only if it has it', (provider) => {
  const { capabilities, oauth } = hostOf(provider)

  expect(capabilities.connectsBy.includes('oauth')).toBe(oauth !== null)
})

describe.each(ENDPOINTS)('%s', (provider, authorizePath, tokenPath, credentialsIn, scope) => {
  test('is asked for a code in the browser', async () => {
    const { host, oauth } = await connect(provider, tokenPath, {})
    const { clientId, redirectUrl } = APPLICATION

    const url = new URL(oauth.authorizeUrl({ clientId, redirectUrl, state: 'a&b' }))

    expect(url.origin + url.pathname).toBe(`${host.url}${authorizePath}`)
    expect(Object.fromEntries(url.searchParams)).toEqual({
      client_id: clientId,
      redirect_uri: redirectUrl,
      response_type: 'code',
      state: 'a&b',
      ...(scope === null ? {} : { scope }),
    })
  })

  test('exchanges a code for tokens, and renews them', async () => {
    const body = { access_token: 'a1', token_type: 'bearer', expires_in: 7200, refresh_token: 'r1' }
    const { host, oauth } = await connect(provider, tokenPath, { body })

    const grant = await oauth.exchange({ ...APPLICATION, code: 'the-code' })
    await oauth.refresh({ ...APPLICATION, refreshToken: 'r1' })

    expect(grant).toEqual({ token: 'a1', refreshToken: 'r1', expiresInMs: 7_200_000 })
    const common = {
      redirect_uri: APPLICATION.redirectUrl,
      ...(credentialsIn === 'body' && { client_id: 'the-id', client_secret: 'the-secret' }),
    }
    expect(host.requests.map(({ text }) => Object.fromEntries(new URLSearchParams(text)))).toEqual([
      { ...common, grant_type: 'authorization_code', code: 'the-code' },
      { ...common, grant_type: 'refresh_token', refresh_token: 'r1' },
    ])
    expect(host.requests[0]?.headers).toMatchObject({
      accept: 'application/json',
      'content-type': 'application/x-www-form-urlencoded',
    })
    const basic = `Basic ${Buffer.from('the-id:the-secret').toString('base64')}`
    expect(host.requests[0]?.headers.authorization).toBe(credentialsIn === 'header' ? basic : undefined)
  })

  test.each([
    ['a code it does not know', { status: 400, body: { error: 'invalid_grant', error_description: 'code expired' } }],
    ['the secret', { status: 401, body: { error: 'invalid_client', error_description: 'code expired' } }],
    ['in a 200', { body: { error: 'bad_verification_code', error_description: 'code expired' } }],
  ])('refuses %s', async (_, reply) => {
    const { oauth } = await connect(provider, tokenPath, reply)

    await expect(oauth.exchange({ ...APPLICATION, code: 'the-code' })).rejects.toMatchObject({
      name: 'HostError',
      kind: 'unauthorised',
      message: expect.stringMatching(/could not get a token: .*\(code expired\)/),
    })
  })
})

test('a token without an expiry has none', async () => {
  const body = { access_token: 'gho_1', scope: 'repo,read:org', token_type: 'bearer' }
  const { oauth } = await connect('github', '/login/oauth/access_token', { body })

  const grant = await oauth.exchange({ ...APPLICATION, code: 'the-code' })

  expect(grant).toEqual({ token: 'gho_1', refreshToken: null, expiresInMs: null })
})

test.each<[HostReply]>([
  [{ body: '<html>Sign in</html>' }],
  [{ body: {} }],
  [{ body: { access_token: '' } }],
  [{ status: 502 }],
  [{ status: 302, headers: { location: '/login' } }],
  [(response) => response.destroy()],
])('the reply %j is no refusal', async (reply) => {
  const { oauth } = await connect('gitlab_hosted', '/oauth/token', reply)

  await expect(oauth.refresh({ ...APPLICATION, refreshToken: 'r1' })).rejects.toMatchObject({ kind: 'unavailable' })
})

test('errors show neither the secret nor the code nor a refresh token', async () => {
  const reply = { status: 400, body: { error: 'the-secret the-code r1 are wrong' } }
  const { oauth } = await connect('gitea', '/login/oauth/access_token', reply)

  await expect(oauth.exchange({ ...APPLICATION, code: 'the-code' })).rejects.toThrow('(*** *** r1 are wrong)')
  await expect(oauth.refresh({ ...APPLICATION, refreshToken: 'r1' })).rejects.toThrow('(*** the-code *** are wrong)')
})
