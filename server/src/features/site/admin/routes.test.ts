import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { createTeam } from '../../../testing/teams.ts'
import { totpCode } from '../../identity/sessions/totp.ts'

const PASSWORD = 'a good password'
let app: TestApp
let admin: TestUser
let other: TestUser
beforeAll(async () => {
  app = await createTestApp()
  admin = await createUser(app, { username: 'root', isSiteAdmin: true })
  other = await createUser(app)
})

type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'
const send = (method: Method, path: string, body?: unknown, token = admin.token) =>
  app.request({ method, url: `/api/v2/admin${path}`, token, body })
const act = (user: { id: string }, action: string) => send('POST', `/users/${user.id}/actions/${action}`)
const signIn = (username: string, password = PASSWORD) =>
  app.request({ method: 'POST', url: '/api/v2/sessions', body: { username, password } })
const details = (user: TestUser) => app.request({ url: '/api/v2/account/details', token: user.token })

test('all routes are hidden except from site administrators', async () => {
  const routes: [Method, string, unknown?][] = [
    ['GET', '/users'],
    ['POST', '/users', { username: 'new', email: 'new@example.com' }],
    ['GET', `/users/${other.id}`],
    ['PATCH', `/users/${other.id}`, { 'is-admin': true }],
    ['DELETE', `/users/${other.id}`],
    ['POST', `/users/${other.id}/actions/grant_admin`],
    ['GET', '/organizations'],
    ['PATCH', '/organizations/any', { plan: 'free' }],
    ['GET', '/feature-sets'],
  ]

  for (const [method, path, body] of routes) {
    expect([path, (await send(method, path, body, other.token)).status]).toEqual([path, 404])
    expect((await app.request({ method, url: `/api/v2/admin${path}`, body })).status).toBe(401)
  }
})

describe('users', () => {
  test.each([
    ['plain JSON', (attributes: object) => attributes],
    ['a document', (attributes: object) => ({ data: { type: 'users', attributes } })],
  ])('an account is created by %s, and can sign in', async (label, wrap) => {
    const username = `made-by-${label.replace(/\W/g, '-')}`

    const response = await send(
      'POST',
      '/users',
      wrap({ username, email: `${username}@example.com`, password: PASSWORD }),
    )

    expect(response.status).toBe(201)
    expect(response.json().data).toMatchObject({
      type: 'users',
      attributes: { username, email: `${username}@example.com`, 'is-admin': false, 'is-suspended': false },
    })
    expect((await signIn(username)).status).toBe(201)
  })

  test.each([
    [{ email: 'x@example.com' }, 'username'],
    [{ username: 'x', email: 'no address' }, 'email'],
    [{ username: 'x', email: 'x@example.com', password: 'short' }, 'password'],
    [{ username: 'x', email: 'x@example.com', 'is-admin': 'yes' }, 'is-admin'],
    [{ username: 'ROOT', email: 'x@example.com' }, 'username'],
  ])('%j is rejected with its pointer', async (body, name) => {
    const response = await send('POST', '/users', body)

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(`/data/attributes/${name}`)
  })

  test('are filtered by two-factor authentication, and show when they were last active', async () => {
    const person = await createUser(app, { username: 'without-codes', password: PASSWORD })
    await details(person)

    const without = await send('GET', '/users?filter[two-factor]=false&q=without-codes')
    const withCodes = await send('GET', '/users?filter[two-factor]=true&q=without-codes')
    const unconfirmed = await send('GET', '/users?filter[unconfirmed]=true&q=without-codes')

    expect(unconfirmed.json().data).toEqual([])
    expect(without.json().data.map(({ id }: TestUser) => id)).toEqual([person.id])
    expect(withCodes.json().data).toEqual([])
  })

  test('have organizations and teams, which say where they are the last owner', async () => {
    const person = await createUser(app)
    const own = await createOrganization(app, person)
    const shared = await createOrganization(app, other)
    await createTeam(app, shared.id, { name: 'ops', members: [person] })

    const { data } = (await send('GET', `/users/${person.id}/organization-memberships`)).json()
    const byName = new Map(data.map(({ attributes }: any) => [attributes['organization-name'], attributes]))

    expect(byName.size).toBe(2)
    expect(byName.get(own.name)).toMatchObject({ teams: [{ name: 'owners' }], 'is-last-owner': true })
    expect(byName.get(shared.name)).toMatchObject({ teams: [{ name: 'ops' }], 'is-last-owner': false })
  })

  test('are listed by pages, searched and filtered, without the accounts of teams', async () => {
    const found = await createUser(app, { username: 'find_me', email: 'someone@example.com' })
    await createOrganization(app, found)
    await act(found, 'suspend')
    const names = async (query: string) =>
      (await send('GET', `/users?${query}`)).json().data.map((user: any) => user.attributes.username)

    expect(await names('q=find_me')).toEqual(['find_me'])
    expect(await names('q=SOMEONE@')).toEqual(['find_me'])
    expect(await names('q=find%25')).toEqual([])
    expect(await names('filter[admin]=true')).toEqual(['root'])
    expect(await names('filter[suspended]=true')).toEqual(['find_me'])
    expect(await names('page[size]=1')).toEqual(['root'])
    expect((await names('page[size]=100')).filter((name: string) => name.startsWith('api-'))).toEqual([])
    expect((await send('GET', '/users?filter[admin]=maybe')).status).toBe(422)
  })

  test('a suspended user loses access immediately, and is restored unchanged', async () => {
    const user = await createUser(app, { password: PASSWORD })
    const browser = await createBrowser(app, user.id)

    const suspended = await act(user, 'suspend')

    expect(suspended.json().data.attributes['is-suspended']).toBe(true)
    expect((await details(user)).status).toBe(401)
    expect((await browser.request({ url: '/api/v2/account/details' })).status).toBe(401)
    expect((await signIn(user.username)).status).toBe(403)
    await act(user, 'unsuspend')
    expect((await details(user)).status).toBe(200)
    expect((await browser.request({ url: '/api/v2/account/details' })).status).toBe(401)
  })

  test('a user becomes an administrator, and loses that again, immediately', async () => {
    const user = await createUser(app)

    expect((await act(user, 'grant_admin')).json().data.attributes['is-admin']).toBe(true)
    expect((await send('GET', '/users', undefined, user.token)).status).toBe(200)
    expect((await act(user, 'revoke_admin')).json().data.attributes['is-admin']).toBe(false)
    expect((await send('GET', '/users', undefined, user.token)).status).toBe(404)
  })

  test("the last administrator can't be revoked", async () => {
    expect((await act(admin, 'revoke_admin')).status).toBe(409)
    expect((await send('PATCH', `/users/${admin.id}`, { 'is-admin': false })).status).toBe(409)
    expect((await send('DELETE', `/users/${admin.id}`)).status).toBe(409)
    expect((await act(admin, 'suspend')).status).toBe(422)
  })

  test('of two administrators who remove each other concurrently, one stays', async () => {
    const site = await createTestApp()
    const [ada, bob] = [await createUser(site, { isSiteAdmin: true }), await createUser(site, { isSiteAdmin: true })]
    const revoke = (by: TestUser, whom: TestUser) =>
      site.request({ method: 'POST', url: `/api/v2/admin/users/${whom.id}/actions/revoke_admin`, token: by.token })

    const responses = await Promise.all([revoke(ada, bob), revoke(bob, ada)])

    expect(responses.filter((response) => response.status === 200)).toHaveLength(1)
  })

  test("a new password ends the user's sessions", async () => {
    const user = await createUser(app)
    const browser = await createBrowser(app, user.id)

    const response = await send('PATCH', `/users/${user.id}`, { password: PASSWORD })

    expect(response.status).toBe(200)
    expect((await browser.request({ url: '/api/v2/account/details' })).status).toBe(401)
    expect((await signIn(user.username)).status).toBe(201)
  })

  test('a user is deleted with its tokens, but not while an organization has no other owner', async () => {
    const user = await createUser(app)
    const organization = await createOrganization(app, user)
    const deleted = await createUser(app)

    const kept = await send('DELETE', `/users/${user.id}`)

    expect(kept.status).toBe(409)
    expect(kept.json().errors[0].detail).toContain(organization.name)
    expect((await send('DELETE', `/users/${deleted.id}`)).status).toBe(204)
    expect((await details(deleted)).status).toBe(401)
    expect((await send('GET', `/users/${deleted.id}`)).status).toBe(404)
  })

  test('the only owner of an organization can be suspended, and owns it again afterwards', async () => {
    const user = await createUser(app)
    const { name } = await createOrganization(app, user)
    const rename = async () =>
      app.request({
        method: 'PATCH',
        url: `/api/v2/organizations/${name}`,
        token: user.token,
        body: { data: { type: 'organizations', attributes: { email: 'new@example.com' } } },
      })

    expect((await act(user, 'suspend')).status).toBe(200)
    expect((await rename()).status).toBe(401)
    expect((await act(user, 'unsuspend')).status).toBe(200)
    expect((await rename()).status).toBe(200)
  })

  test("a team's account is not among them", async () => {
    const owner = await createUser(app)
    const { id } = await createOrganization(app, owner)
    const team = await app.db
      .selectFrom('teams')
      .select('service_user_id')
      .where('organization_id', '=', id)
      .executeTakeFirstOrThrow()

    expect((await send('DELETE', `/users/${team.service_user_id}`)).status).toBe(404)
    expect((await act({ id: team.service_user_id }, 'grant_admin')).status).toBe(404)
  })

  test('two-factor authentication can be disabled for a user, which ends the sessions', async () => {
    const user = await createUser(app, { password: PASSWORD })

    expect((await act(user, 'disable_two_factor')).status).toBe(422)
    const enroll = (action: string, body: unknown) =>
      app.request({ method: 'POST', url: `/api/v2/account/two-factor/actions/${action}`, token: user.token, body })
    const { secret } = (await enroll('enroll', { password: PASSWORD })).json().data.attributes
    await enroll('verify', { otp: totpCode(secret, app.now()) })
    expect((await signIn(user.username)).status).toBe(401)
    const browser = await createBrowser(app, user.id)

    const response = await act(user, 'disable_two_factor')

    expect(response.json().data.attributes['two-factor']).toEqual({ enabled: false, verified: false })
    expect((await browser.request({ url: '/api/v2/sessions/current' })).status).toBe(401)
    expect((await signIn(user.username)).status).toBe(201)
  })
})

describe('organizations', () => {
  test('are listed and found by name, and their plan can change', async () => {
    const { name } = await createOrganization(app, other, { name: 'acme' })
    const read = async () => (await send('GET', '/organizations/ACME')).json().data

    expect((await send('GET', '/organizations?q=acm')).json().data).toMatchObject([{ id: name, type: 'organizations' }])
    expect((await read()).attributes.plan).toBe('unlimited')
    expect((await send('PATCH', '/organizations/acme', { plan: 'free' })).status).toBe(200)
    expect((await read()).attributes.plan).toBe('free')
    expect((await send('PATCH', '/organizations/acme', { plan: 'gold' })).status).toBe(422)
    expect((await send('PATCH', '/organizations/unknown', { plan: 'free' })).status).toBe(404)
  })

  test('are deleted', async () => {
    const { name } = await createOrganization(app, other)

    expect((await send('DELETE', `/organizations/${name}`)).status).toBe(204)
    expect((await send('GET', `/organizations/${name}`)).status).toBe(404)
  })

  test('get the plan of a feature set, as existing clients request it', async () => {
    const { name } = await createOrganization(app, other)
    const subscribe = (id: string) =>
      send('POST', `/organizations/${name}/subscription`, {
        data: {
          type: 'subscriptions',
          attributes: { 'runs-ceiling': 10 },
          relationships: { 'feature-set': { data: { type: 'feature-sets', id } } },
        },
      })
    const [business] = (await send('GET', '/feature-sets?q=Business')).json().data
    const [standard] = (await send('GET', '/feature-sets?q=Standard%20(entitlement)')).json().data
    await subscribe('fs-free')

    const response = await subscribe(business.id)

    expect(response.status).toBe(201)
    expect((await send('GET', `/organizations/${name}`)).json().data.attributes.plan).toBe('unlimited')
    await subscribe(standard.id)
    expect((await send('GET', `/organizations/${name}`)).json().data.attributes.plan).toBe('standard')
    expect((await subscribe('fs-none')).status).toBe(422)
  })
})
