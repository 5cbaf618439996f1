import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { type TestBrowser, createBrowser } from '../../../testing/browser.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { type HostRoutes, startFakeHost } from '../../../vcs-hosts/testing/fake-host.ts'
import { openConnection } from './connection.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const browser = await createBrowser(app, owner.id)

const TOKEN = 'POST /login/oauth/access_token'
const grant = (token: string, refreshToken?: string) => ({
  body: { access_token: token, token_type: 'bearer', expires_in: 3600, refresh_token: refreshToken },
})
const USABLE: HostRoutes = {
  'GET /api/v1/user': () => ({ body: { id: 1, login: 'mona' } }),
  [TOKEN]: () => grant('access-one', 'refresh-one'),
}

async function createClient(
  routes: HostRoutes = USABLE,
  attributes: object = { key: 'the-key', secret: 's3cret-text' },
) {
  const host = await startFakeHost(routes)
  const created = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${acme.name}/oauth-clients`,
    token: owner.token,
    body: {
      data: {
        type: 'oauth-clients',
        attributes: { 'service-provider': 'gitea', 'http-url': host.url, ...attributes },
      },
    },
  })
  expect(created.status).toBe(201)
  const { id, attributes: shown } = created.json().data
  const read = async () => (await app.request({ url: `/api/v2/oauth-clients/${id}`, token: owner.token })).json().data
  return { host, id: id as string, path: shown['connect-path'] ?? `/auth/${shown.uuid}`, read }
}

const visit = async (by: TestBrowser, url: string) => by.request({ url, headers: { origin: '' } })

/** Starts an authorization, and returns the path to which the host sends the browser back. */
async function authorize(path: string, by = browser) {
  const started = await visit(by, path)
  expect(started.status).toBe(303)
  const url = new URL(String(started.headers['location']))
  const state = url.searchParams.get('state') ?? ''
  return { url, state, back: `${path}/callback?code=the-code&state=${state}` }
}

test('a person authorizes a connection in the browser', async () => {
  const { host, id, path, read } = await createClient()

  const { url, back } = await authorize(path)
  const finished = await visit(browser, back)
  await app.runJobs()
  const client = await read()
  const [tokens] = [await app.request({ url: `/api/v2/oauth-clients/${id}/oauth-tokens`, token: owner.token })]

  expect(`${url.origin}${url.pathname}`).toBe(`${host.url}/login/oauth/authorize`)
  expect(url.searchParams.get('redirect_uri')).toBe(client.attributes['callback-url'])
  expect([finished.status, finished.headers['location']]).toEqual([303, `/app/${acme.name}/connections/${id}`])
  const sent = new URLSearchParams(host.requests.find(({ route }) => route === TOKEN)?.text)
  expect(Object.fromEntries(sent)).toMatchObject({
    grant_type: 'authorization_code',
    code: 'the-code',
    client_id: 'the-key',
    client_secret: 's3cret-text',
  })
  expect(client.attributes).toMatchObject({ status: 'connected', 'connect-path': null })
  expect(tokens?.json().data[0].attributes['service-provider-user']).toBe('mona')
})

test('a state works once, in the session that started it, for a limited time', async () => {
  const { host, path } = await createClient()
  const [used, foreign, expired] = [await authorize(path), await authorize(path), await authorize(path)]
  const other = await createBrowser(app, owner.id)
  await visit(browser, used.back)
  const asked = host.asked().filter((route) => route === TOKEN).length

  const again = await visit(browser, used.back)
  const elsewhere = await visit(other, foreign.back)
  const invented = await visit(browser, `${path}/callback?code=the-code&state=invented`)
  app.clock.advance(16 * 60_000)
  const late = await visit(browser, expired.back)

  expect([again, elsewhere, invented, late].map(({ status }) => status)).toEqual([401, 401, 401, 401])
  expect(again.text).toContain('start again')
  expect(host.asked().filter((route) => route === TOKEN)).toHaveLength(asked)
})

test('the state of one connection does not authorize another', async () => {
  const [one, other] = [await createClient(), await createClient()]
  const { state } = await authorize(one.path)

  const refused = await visit(browser, `${other.path}/callback?code=the-code&state=${state}`)

  expect(refused.status).toBe(401)
  expect((await other.read()).attributes.status).toBe('pending')
})

test('a refusal on the host is shown', async () => {
  const { path, read } = await createClient({
    ...USABLE,
    [TOKEN]: () => ({ status: 400, body: { error: 'invalid_grant', error_description: 'the code <b>expired</b>' } }),
  })
  const [denied, failed] = [await authorize(path), await authorize(path)]

  const refused = await visit(browser, `${path}/callback?error=access_denied&state=${denied.state}`)
  const unusable = await visit(browser, failed.back)

  expect([refused.status, unusable.status]).toEqual([403, 422])
  expect(refused.text).toContain('access_denied')
  expect(unusable.text).toContain('the code &#60;b&#62;expired&#60;/b&#62;')
  expect((await read()).attributes.status).toBe('pending')
})

test('only a signed-in person who may manage connections starts an authorization, and no other site', async () => {
  const { path } = await createClient()
  const [member, stranger] = [await createUser(app), await createUser(app)]
  await addMember(app, acme.id, member)

  const anonymous = await app.request({ url: path })
  const forbidden = await visit(await createBrowser(app, member.id), path)
  const hidden = await visit(await createBrowser(app, stranger.id), path)
  const foreign = await browser.request({ url: path, headers: { 'sec-fetch-site': 'cross-site' } })

  expect([anonymous, forbidden, hidden, foreign].map(({ status }) => status)).toEqual([401, 403, 404, 403])
})

test('a connection by token has nothing to authorize', async () => {
  const { path } = await createClient(USABLE, { 'oauth-token-string': 'gta_secret' })

  const refused = await visit(browser, path)

  expect(refused.status).toBe(409)
  expect(refused.text).toContain('needs its key and secret')
})

/** A connection that a person has authorized, with the access to its token. */
async function connect(routes: HostRoutes = USABLE) {
  const client = await createClient(routes)
  await visit(browser, (await authorize(client.path)).back)
  const [token] = (await client.read()).relationships['oauth-tokens'].data
  const open = async () => (await openConnection(app.as(owner.actor), token.id)).access.token
  const refreshes = () =>
    client.host.requests.filter(({ route, text }) => route === TOKEN && text.includes('grant_type=refresh_token'))
  return { ...client, open, refreshes }
}

test('a token is refreshed once before it expires, and its refresh token is replaced', async () => {
  const { host, open, refreshes } = await connect()
  const early = await open()
  host.reply(TOKEN, ({ text }) =>
    text.includes('refresh-one') ? grant('access-two', 'refresh-two') : grant('access-three'),
  )

  app.clock.advance(58 * 60_000)
  const together = await Promise.all([open(), open(), open()])
  const count = refreshes().length
  app.clock.advance(58 * 60_000)
  const later = await open()

  expect(early).toBe('access-one')
  expect(together).toEqual(['access-two', 'access-two', 'access-two'])
  expect(count).toBe(1)
  expect(later).toBe('access-three')
  expect(refreshes()[1]?.text).toContain('refresh_token=refresh-two')
})

test('a token that another process refreshes is not refreshed twice', async () => {
  const { id, open, refreshes } = await connect()
  const setLease = async (until: Date) =>
    app.db.updateTable('oauth_tokens').set({ refreshing_until: until }).where('oauth_client_id', '=', id).execute()
  app.clock.advance(58 * 60_000)
  await setLease(new Date(app.clock.now().getTime() + 30_000))

  const stillValid = await open()
  const before = refreshes().length
  // That process died.
  app.clock.advance(31_000)
  await open()

  expect(stillValid).toBe('access-one')
  expect(before).toBe(0)
  expect(refreshes()).toHaveLength(1)
})

test('a refused refresh marks the connection, which can be authorized again', async () => {
  const { host, open, read, path } = await connect()
  host.reply(TOKEN, { status: 400, body: { error: 'invalid_grant' } })
  app.clock.advance(2 * 3_600_000)

  await expect(open()).rejects.toThrow('invalid_grant')
  const failed = await read()
  host.reply(TOKEN, () => grant('access-four', 'refresh-four'))
  await visit(browser, (await authorize(path)).back)

  expect(failed.attributes).toMatchObject({ status: 'failed', 'connect-path': path })
  expect(await open()).toBe('access-four')
  expect((await read()).attributes.status).toBe('connected')
})

test('a host that is down does not end a token that is still valid', async () => {
  const { host, open, read } = await connect()
  host.reply(TOKEN, { status: 503, body: 'down' })

  app.clock.advance(58 * 60_000)
  const valid = await open()
  app.clock.advance(3_600_000)

  expect(valid).toBe('access-one')
  await expect(open()).rejects.toThrow('503')
  expect((await read()).attributes.status).toBe('connected')
})
