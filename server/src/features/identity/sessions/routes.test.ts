import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { browserWith, cookieOf, createBrowser } from '../../../testing/browser.ts'
import {
  type TestUser,
  createOrganization,
  createProject,
  createUser,
  createWorkspace,
} from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'
import { updateOrganization } from '../../organizations/organizations/store.ts'
import { updateUser } from '../users/service.ts'
import { checkPassword, openSession } from './service.ts'

const PASSWORD = 'a good password'
const DAY_MS = 24 * 60 * 60_000

let app: TestApp
let ada: TestUser
beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app, { username: 'ada', email: 'ada@example.com', password: PASSWORD })
})

const signIn = (body: unknown, headers: Record<string, string> = {}) =>
  app.request({ method: 'POST', url: '/api/v2/sessions', body, headers })

describe('signing in', () => {
  test.each([
    [
      'the username in any case, as a document',
      { data: { type: 'sessions', attributes: { username: 'ADA', password: PASSWORD } } },
    ],
    ['the address, as plain JSON', { email: 'Ada@Example.com', password: PASSWORD }],
  ])('%s opens a session', async (_, body) => {
    const response = await signIn(body)

    expect(response.status).toBe(201)
    expect(response.json().included[0].attributes.username).toBe('ada')
    const header = String(response.headers['set-cookie'])
    expect(header).toMatch(/^groundstate_session=[\w.]{80,}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=2592000$/)
    const current = await browserWith(app, cookieOf(header)).request({ url: '/api/v2/sessions/current' })
    expect(current.json().data).toMatchObject({ id: response.json().data.id, attributes: { 'is-current': true } })
  })

  test('with https the cookie is Secure', async () => {
    const secure = await createTestApp({ GROUNDSTATE_BASE_URL: 'https://groundstate.test' })
    await createUser(secure, { username: 'ada', password: PASSWORD })

    const response = await secure.request({
      method: 'POST',
      url: '/api/v2/sessions',
      body: { username: 'ada', password: PASSWORD },
    })

    expect(response.headers['set-cookie']).toMatch(/; Secure$/)
  })

  test('a wrong password and an unknown username have the same response', async () => {
    const wrong = await signIn({ username: 'ada', password: 'wrong' })
    const unknown = await signIn({ username: 'nobody', password: 'wrong' })

    expect([wrong.status, unknown.status]).toEqual([401, 401])
    expect(wrong.json()).toEqual(unknown.json())
    expect(wrong.headers['set-cookie']).toBeUndefined()
  })

  test('an account without a password cannot sign in with one', async () => {
    await createUser(app, { username: 'from-elsewhere' })

    expect((await signIn({ username: 'from-elsewhere', password: '' })).status).toBe(401)
  })

  test('a password that changed after it was checked opens no session', async () => {
    const user = await createUser(app, { password: PASSWORD })
    const checked = await checkPassword(app.as(), user.username, PASSWORD)
    const attributes = { current_password: PASSWORD, password: 'another one', password_confirmation: 'another one' }
    const body = { data: { type: 'users', attributes } }
    await app.request({ method: 'PATCH', url: '/api/v2/account/password', token: user.token, body })

    await expect(openSession(app.as(), checked)).rejects.toThrow('the account has changed')
  })

  test('a suspended account gets that error only with the right password', async () => {
    const user = await createUser(app, { password: PASSWORD })
    await updateUser(app.as(), user.id, { suspended_at: app.now() })

    expect((await signIn({ username: user.username, password: 'wrong' })).status).toBe(401)
    expect((await signIn({ username: user.username, password: PASSWORD })).status).toBe(403)
  })

  test.each([
    [undefined],
    [{}],
    [{ username: 'ada' }],
    [{ password: PASSWORD }],
    [{ username: 1, password: 2 }],
    ['{'],
  ])('the body %j is rejected', async (body) => {
    const response = await signIn(body, typeof body === 'string' ? { 'content-type': 'application/json' } : {})

    expect([400, 422]).toContain(response.status)
  })

  test('a page of another site cannot sign in', async () => {
    const body = { username: 'ada', password: PASSWORD }

    expect((await signIn(body, { origin: 'https://evil.example' })).status).toBe(403)
    expect((await signIn(body, { origin: 'null' })).status).toBe(403)
    expect((await signIn(body, { origin: 'http://groundstate.test' })).status).toBe(201)
  })
})

describe('a session', () => {
  test('makes changes only from our own pages', async () => {
    const browser = await createBrowser(app, ada.id)
    const create = (origin: Record<string, string>) =>
      app.request({
        method: 'POST',
        url: `/api/v2/users/${ada.id}/authentication-tokens`,
        body: {},
        headers: { cookie: browser.cookie, ...origin },
      })

    expect((await create({})).status).toBe(403)
    expect((await create({ origin: 'https://evil.example' })).status).toBe(403)
    expect((await create({ origin: 'null' })).status).toBe(403)
    expect((await create({ origin: 'http://groundstate.test' })).status).toBe(201)
  })

  test('ends with its sign-out; an API token has no session to end', async () => {
    const browser = await createBrowser(app, ada.id)

    const ended = await browser.request({ method: 'DELETE', url: '/api/v2/sessions/current' })

    expect(ended.status).toBe(204)
    expect(ended.headers['set-cookie']).toContain('Max-Age=0')
    expect((await browser.request({ url: '/api/v2/account/details' })).status).toBe(401)
    expect((await app.request({ url: '/api/v2/sessions/current', token: ada.token })).status).toBe(404)
  })

  test('lasts while it is used, for at most a month', async () => {
    const user = await createUser(app)
    const used = await createBrowser(app, user.id)
    const idle = await createBrowser(app, user.id)
    const works = async ({ request }: typeof used) => (await request({ url: '/api/v2/account/details' })).status === 200

    app.clock.advance(10 * DAY_MS)
    expect(await works(used)).toBe(true)
    app.clock.advance(10 * DAY_MS)
    expect(await works(used)).toBe(true)
    expect(await works(idle)).toBe(false)
    app.clock.advance(10 * DAY_MS)
    expect(await works(used)).toBe(false)
    await app.runJobs()
  })

  test('expires early only for an organization with a shorter limit', async () => {
    const [user, stranger] = [await createUser(app), await createUser(app)]
    const [strict, lax] = [await createOrganization(app, stranger), await createOrganization(app, user)]
    await updateOrganization(app.db, strict.id, { session_remember: 60 })
    await addMember(app, strict.id, user)
    const project = await createProject(app, { organization: strict.name, actor: stranger.actor })
    const browser = await createBrowser(app, user.id)
    const status = async (path: string) => (await browser.request({ url: `/api/v2${path}` })).status

    const before = await status(`/organizations/${strict.name}`)
    app.clock.advance(60 * 60_000)
    const after = await browser.request({ url: `/api/v2/organizations/${strict.name}` })

    expect(before).toBe(200)
    expect(after.status).toBe(403)
    expect(after.json().errors[0].detail).toMatch(/sign out, and sign in again$/)
    expect(await status(`/organizations/${strict.name}/workspaces`)).toBe(403)
    expect(await status(`/projects/${project.id}`)).toBe(404)
    expect(await status(`/organizations/${lax.name}/workspaces`)).toBe(200)
    expect(await status('/account/details')).toBe(200)
    const token = await app.request({ url: `/api/v2/organizations/${strict.name}`, token: user.token })
    expect(token.status).toBe(200)
    const again = await createBrowser(app, user.id)
    expect((await again.request({ url: `/api/v2/organizations/${strict.name}` })).status).toBe(200)
  })

  test('once idle, is rejected by an organization with an idle limit, even if used elsewhere since', async () => {
    const user = await createUser(app)
    const organization = await createOrganization(app, user)
    const workspace = await createWorkspace(app, { organization: organization.name })
    await updateOrganization(app.db, organization.id, { session_timeout: 5 })
    const browser = await createBrowser(app, user.id)
    const status = async (path: string) => (await browser.request({ url: `/api/v2${path}` })).status

    app.clock.advance(4 * 60_000)
    const used = await status(`/workspaces/${workspace.id}`)
    app.clock.advance(4 * 60_000)
    const usedAgain = await status(`/workspaces/${workspace.id}`)
    app.clock.advance(5 * 60_000)
    const elsewhere = await status('/account/details')
    app.clock.advance(60_000)
    const afterwards = await status(`/workspaces/${workspace.id}`)

    expect([used, usedAgain, elsewhere, afterwards]).toEqual([200, 200, 200, 403])
  })

  test('must meet the limits that its owner sets', async () => {
    const user = await createUser(app)
    const { name } = await createOrganization(app, user)
    const browser = await createBrowser(app, user.id)
    app.clock.advance(4 * 60_000)
    const limit = async (attributes: Record<string, number>) => {
      const body = { data: { type: 'organizations', attributes } }
      const response = await browser.request({ method: 'PATCH', url: `/api/v2/organizations/${name}`, body })
      return { status: response.status, error: response.json().errors?.[0] }
    }

    const [age, idle] = [await limit({ 'session-remember': 1 }), await limit({ 'session-timeout': 4 })]
    const longer = await limit({ 'session-remember': 5, 'session-timeout': 5 })

    const detail = 'you would lock yourself out: your session is older than 1 minute; choose a longer time'
    expect(age).toMatchObject({
      status: 422,
      error: { detail, source: { pointer: '/data/attributes/session-remember' } },
    })
    expect(idle).toMatchObject({ status: 422, error: { source: { pointer: '/data/attributes/session-timeout' } } })
    expect(longer.status).toBe(200)
  })

  test('shows when it ends without use', async () => {
    const user = await createUser(app)
    const browser = await createBrowser(app, user.id)
    const current = async () => (await browser.request({ url: '/api/v2/sessions/current' })).json().data.attributes

    const first = await current()
    app.clock.advance(10 * DAY_MS)
    await current()
    app.clock.advance(10 * DAY_MS)
    const last = await current()

    const start = Date.parse(first['created-at'])
    expect(Date.parse(first['expires-at']) - start).toBe(14 * DAY_MS)
    expect(Date.parse(last['expires-at']) - start).toBe(30 * DAY_MS)
  })

  test('is written at most once a minute', async () => {
    const browser = await createBrowser(app, ada.id)
    const lastUsed = async () =>
      (await browser.request({ url: '/api/v2/sessions/current' })).json().data.attributes['last-used-at']
    const first = await lastUsed()

    app.clock.advance(30_000)
    expect(await lastUsed()).toBe(first)
    app.clock.advance(31_000)
    expect(Date.parse(await lastUsed()) - Date.parse(first)).toBeGreaterThanOrEqual(60_000)
  })
})
