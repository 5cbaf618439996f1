import { generateKeyPairSync } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import type { TestApp } from './app.ts'
import { atEnd } from './cleanup.ts'

type Person = Record<string, unknown>
/** `start` is the path at which a trial starts. */
type SignInOptions = { returnTo?: string; start?: string; tamper?: (url: string) => string }

const CLIENT = { id: 'groundstate', secret: 'a secret that both sides know' }
const SCOPES = 'openid profile email groups'

/**
 * A real OpenID Connect provider on the loopback interface. `settings` are for `createTestApp`. `people` are the claims
 * of each user by subject. `signIn` follows the redirects of both servers like a browser.
 */
export async function createIdentityProvider() {
  const people = new Map<string, Person>()
  let subject: string | undefined
  const server = createServer((request, response) => void handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  let client = 'http://groundstate.test'
  let made: Provider | undefined
  const provider = () => (made ??= createProvider())
  const createProvider = () =>
    new Provider(issuer, {
      clients: [
        {
          client_id: CLIENT.id,
          client_secret: CLIENT.secret,
          redirect_uris: [`${client}/auth/oidc/callback`],
          grant_types: ['authorization_code'],
          response_types: ['code'],
        },
      ],
      jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), use: 'sig', alg: 'RS256', kid: 'test' }] },
      cookies: { keys: ['a key of the tests'] },
      claims: {
        openid: ['sub'],
        profile: ['preferred_username', 'name'],
        email: ['email', 'email_verified'],
        groups: ['groups'],
      },
      pkce: { required: () => true },
      features: { devInteractions: { enabled: false } },
      interactions: { url: () => '/interaction' },
      findAccount: (_: unknown, id: string) => ({ accountId: id, claims: () => ({ sub: id, ...people.get(id) }) }),
      loadExistingGrant: async ({
        oidc,
      }: {
        oidc: { client: { clientId: string }; session: { accountId: string } }
      }) => {
        const grant = new (provider().Grant)({ clientId: oidc.client.clientId, accountId: oidc.session.accountId })
        grant.addOIDCScope(SCOPES)
        await grant.save()
        return grant
      },
    })
  async function handle(request: IncomingMessage, response: ServerResponse) {
    if (request.url !== '/interaction') return provider().callback()(request, response)
    await provider().interactionFinished(
      request,
      response,
      subject === undefined
        ? { error: 'access_denied', error_description: 'the user declined' }
        : { login: { accountId: subject } },
    )
  }

  atEnd(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })

  /** Goes from the provider's first page to its redirect back. */
  async function authorize(url: string) {
    const cookies = new Map<string, string>()
    let next = url
    while (next.startsWith(issuer)) {
      const response = await fetch(next, {
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      })
      for (const line of response.headers.getSetCookie()) {
        const [name = '', value = ''] = line.split(';', 1)[0]?.split(/=(.*)/s) ?? []
        cookies.set(name, value)
      }
      const location = response.headers.get('location')
      if (location === null) throw new Error(`the provider returned ${response.status}: ${await response.text()}`)
      next = new URL(location, issuer).href
    }
    return next
  }

  return {
    issuer,
    people,
    settings: {
      GROUNDSTATE_OIDC_ISSUER: issuer,
      GROUNDSTATE_OIDC_CLIENT_ID: CLIENT.id,
      GROUNDSTATE_OIDC_CLIENT_SECRET: CLIENT.secret,
      GROUNDSTATE_OIDC_SCOPES: SCOPES,
      GROUNDSTATE_OIDC_NAME: 'Example ID',
    },
    /** Sets the server that people sign in to, unless it is a `TestApp`; call it before the first sign-in. */
    serve(baseUrl: string) {
      client = baseUrl
    },
    /** The person that signs in next in a real browser; `undefined` denies the sign-in. */
    choose(person: string | undefined) {
      subject = person
    },
    /**
     * Signs in and returns the response of our callback; the person `undefined` denies it. `tamper` changes the browser's
     * request to the callback.
     */
    async signIn(
      app: TestApp,
      person: string | undefined,
      { returnTo, start, tamper = (url: string) => url }: SignInOptions = {},
    ) {
      subject = person
      const query = returnTo === undefined ? '' : `?${new URLSearchParams({ return_to: returnTo }).toString()}`
      const started = await app.request({ url: start ?? `/auth/oidc${query}` })
      const back = new URL(tamper(await authorize(String(started.headers['location']))))
      const cookie = cookiesOf(started)[0] ?? ''
      return app.request({ url: `${back.pathname}${back.search}`, headers: { cookie } })
    },
  }
}

/** The cookies that a response sets, as a browser sends them back, without deleted ones. */
export function cookiesOf(response: { headers: Record<string, unknown> }) {
  return [response.headers['set-cookie'] ?? []]
    .flat()
    .filter((line) => typeof line === 'string')
    .map((line) => line.split(';', 1)[0] ?? '')
    .filter((pair) => !pair.endsWith('='))
}
