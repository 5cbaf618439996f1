import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { cookiesOf, createIdentityProvider } from '../../../testing/identity-provider.ts'
import { createTeam } from '../../../testing/teams.ts'

let provider: Awaited<ReturnType<typeof createIdentityProvider>>
let app: TestApp
let owner: TestUser
let organization: { id: string; name: string }
beforeAll(async () => {
  provider = await createIdentityProvider()
  app = await createTestApp(provider.settings)
  owner = await createUser(app, { username: 'boss' })
  organization = await createOrganization(app, owner)
})
beforeEach(() => provider.people.clear())

type Claims = { username?: string; email?: string; verified?: boolean; groups?: string[] }
function person(subject: string, { username, email, verified = true, groups }: Claims = {}) {
  provider.people.set(subject, {
    preferred_username: username ?? subject,
    ...(email !== undefined && { email, email_verified: verified }),
    ...(groups && { groups }),
  })
  return subject
}

/** Signs in and returns the account. */
async function signIn(subject: string) {
  const response = await provider.signIn(app, subject)
  expect(response.status).toBe(303)
  const [cookie = ''] = cookiesOf(response)
  return (await app.request({ url: '/api/v2/account/details', headers: { cookie } })).json().data
}

async function teamsOf(userId: string) {
  const rows = await app.db
    .selectFrom('team_members')
    .innerJoin('teams', 'teams.id', 'team_id')
    .select('teams.name')
    .where('user_id', '=', userId)
    .orderBy('teams.name')
    .execute()
  return rows.map((row) => row.name)
}

describe('signing in', () => {
  test('redirects to the provider with PKCE, state and nonce, and opens a session in the same browser', async () => {
    const started = await app.request({ url: '/auth/oidc' })
    const location = new URL(String(started.headers['location']))
    const finished = await provider.signIn(app, person('newcomer'), { returnTo: '/app/somewhere?x=1' })

    expect(started.status).toBe(302)
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
      redirect_uri: 'http://groundstate.test/auth/oidc/callback',
    })
    expect(String(started.headers['set-cookie'])).toContain('HttpOnly; SameSite=Lax')
    expect([finished.status, finished.headers['location']]).toEqual([303, '/app/somewhere?x=1'])
    expect(cookiesOf(finished)).toEqual([expect.stringMatching(/^groundstate_session=/)])
  })

  test.each(['https://evil.example', '//evil.example', '/\\evil.example', 'app'])(
    'never leads elsewhere: %s',
    async (returnTo) => {
      const response = await provider.signIn(app, person('careful'), { returnTo })

      expect(response.headers['location']).toBe('/app')
    },
  )

  test.each<[string, (url: string) => string]>([
    ['a state that we did not send', (url) => url.replace(/state=[^&]*/, 'state=forged')],
    ['a code of another user', (url) => url.replace(/code=[^&]*/, 'code=forged')],
    ['no code', (url) => url.replace(/code=[^&]*&?/, '')],
    ['another issuer', (url) => url.replace(/iss=[^&]*/, 'iss=https%3A%2F%2Fevil.example')],
  ])('is rejected with %s', async (_, tamper) => {
    const response = await provider.signIn(app, person('tampered'), { tamper })

    expect(response.status).toBe(401)
    expect(response.headers['content-type']).toContain('text/html')
    expect(cookiesOf(response)).toEqual([])
  })

  test('is rejected in another browser, and after the time limit', async () => {
    const elsewhere = await app.request({ url: '/auth/oidc/callback?code=x&state=y' })
    const late = await provider.signIn(app, person('late'), {
      tamper: (url) => {
        app.clock.advance(16 * 60_000)
        return url
      },
    })

    expect([elsewhere.status, late.status]).toEqual([401, 401])
  })

  test('reports the denial of the user', async () => {
    const response = await provider.signIn(app, undefined)

    expect(response.status).toBe(401)
    expect(response.text).toContain('Sign-in failed')
  })
})

describe('accounts', () => {
  test('are created at the first sign-in and found at the next, even under another name', async () => {
    const first = await signIn(person('ada', { username: 'ada', email: 'ada@example.com' }))
    const second = await signIn(person('ada', { username: 'renamed', email: 'other@example.com' }))

    expect(second.id).toBe(first.id)
    expect(first.attributes).toMatchObject({ username: 'ada', email: 'ada@example.com', 'auth-method': 'sso' })
  })

  test('are linked only by an address verified by the provider', async () => {
    const user = await createUser(app, { username: 'linked', email: 'linked@example.com' })

    const unverified = await signIn(person('eve', { username: 'linked', email: 'linked@example.com', verified: false }))
    const verified = await signIn(person('lin', { email: 'Linked@example.com' }))

    expect(unverified.id).not.toBe(user.id)
    expect(unverified.attributes.username).toMatch(/^linked-.{6}$/)
    expect(unverified.attributes.email).toBeNull()
    expect(verified.id).toBe(user.id)
  })

  test('sign in only with the provider once linked', async () => {
    const password = 'a good password'
    const user = await createUser(app, { username: 'moving', email: 'moving@example.com', password })
    const before = await createBrowser(app, user.id)

    const { attributes } = await signIn(person('mov', { email: 'moving@example.com' }))
    const body = { username: 'moving', password }
    const byPassword = await app.request({ method: 'POST', url: '/api/v2/sessions', body })

    expect(attributes).toMatchObject({
      'auth-method': 'sso',
      'is-sso-login': true,
      permissions: { 'can-change-password': false, 'can-change-email': false },
    })
    expect(byPassword.status).toBe(401)
    expect((await before.request({ url: '/api/v2/account/details' })).status).toBe(401)
  })

  test('are not linked by an unconfirmed address', async () => {
    const squatter = await createUser(app, { username: 'squatter', password: 'a good password' })
    await app.request({
      method: 'PATCH',
      url: '/api/v2/account/update',
      token: squatter.token,
      body: { data: { type: 'users', attributes: { email: 'chief@example.com' } } },
    })

    const chief = await signIn(person('chief', { email: 'chief@example.com' }))

    expect(chief.id).not.toBe(squatter.id)
    expect(chief.attributes).toMatchObject({ email: 'chief@example.com', 'unconfirmed-email': null })
  })

  test('are not reassigned with an address', async () => {
    const first = await signIn(person('leaver', { email: 'shared@example.com' }))

    const response = await provider.signIn(app, person('joiner', { email: 'shared@example.com' }))

    expect(response.status).toBe(403)
    expect(response.text).not.toContain(first.id)
  })

  test('that are suspended cannot sign in', async () => {
    const { id } = await signIn(person('gone'))
    await app.db.updateTable('users').set({ suspended_at: app.now() }).where('id', '=', id).execute()

    expect((await provider.signIn(app, 'gone')).status).toBe(403)
  })

  test('accept the invitations of their verified address', async () => {
    await app.request({
      method: 'POST',
      url: `/api/v2/organizations/${organization.name}/organization-memberships`,
      token: owner.token,
      body: { data: { type: 'organization-memberships', attributes: { email: 'guest@example.com' } } },
    })

    const account = await signIn(person('guest', { email: 'guest@example.com' }))

    const membership = await app.db
      .selectFrom('organization_memberships')
      .select('status')
      .where('user_id', '=', account.id)
      .executeTakeFirst()
    expect(membership?.status).toBe('active')
  })
})

describe('groups', () => {
  test('add users to teams by id or name of the team, and remove them', async () => {
    await createTeam(app, organization.id, { name: 'by-name' })
    await createTeam(app, organization.id, { name: 'by-id', columns: { sso_team_id: 'group-7' } })
    await createTeam(app, organization.id, { name: 'with-id', columns: { sso_team_id: 'another' } })

    const { id } = await signIn(person('grouped', { groups: ['By-Name', 'group-7', 'with-id'] }))
    const before = await teamsOf(id)
    await signIn(person('grouped', { groups: ['by-name'] }))
    const after = await teamsOf(id)
    await signIn(person('grouped'))
    const membership = await app.db
      .selectFrom('organization_memberships')
      .select('id')
      .where('user_id', '=', id)
      .execute()

    expect([before, after, await teamsOf(id), membership]).toEqual([['by-id', 'by-name'], ['by-name'], [], []])
  })

  test('do not change memberships granted by users', async () => {
    const user = await createUser(app, { email: 'granted@example.com' })
    await createTeam(app, organization.id, { name: 'granted', members: [user] })

    await signIn(person('granted', { email: 'granted@example.com', groups: ['granted'] }))
    await signIn(person('granted', { email: 'granted@example.com', groups: [] }))

    expect(await teamsOf(user.id)).toEqual(['granted'])
  })

  test('match team names with spaces, slashes and letters of any script', async () => {
    const names = ['Finance/Admins', 'Site Reliability', 'ÄRZTE', 'ΟΔΟΣ']
    for (const name of names) await createTeam(app, organization.id, { name })

    const ada = await signIn(person('many-groups', { groups: ['finance/admins', 'Site Reliability', 'ärzte', 'ΟΔΟΣ'] }))

    expect(new Set(await teamsOf(ada.id))).toEqual(new Set(names))
  })

  test('add owners only by an id, and never remove the last one', async () => {
    const own = await createOrganization(app, await createUser(app))
    await app.db
      .updateTable('teams')
      .set({ sso_team_id: 'owners-group' })
      .where('organization_id', '=', own.id)
      .where('is_owners', '=', true)
      .execute()

    const stranger = await signIn(person('stranger', { groups: ['owners'] }))
    const boss = await signIn(person('new-boss', { groups: ['owners-group'] }))
    await app.db
      .deleteFrom('team_members')
      .where('user_id', '<>', boss.id)
      .where('team_id', 'in', (eb) =>
        eb.selectFrom('teams').select('id').where('organization_id', '=', own.id).where('is_owners', '=', true),
      )
      .execute()
    await signIn(person('new-boss', { groups: [] }))

    expect(await teamsOf(stranger.id)).toEqual([])
    expect(await teamsOf(boss.id)).toEqual(['owners'])
  })
})

describe('the sign-in methods', () => {
  const methods = async (server: TestApp) =>
    (await server.request({ url: '/api/v2/sessions/methods' })).json().data.attributes

  test('are public, and shown on the sign-in page of the CLI', async () => {
    const query = new URLSearchParams({
      client_id: 'terraform-cli',
      redirect_uri: 'http://localhost:10005/login',
      response_type: 'code',
      code_challenge_method: 'S256',
      code_challenge: 'x'.repeat(43),
    })
    const page = await app.request({ url: `/oauth/authorize?${query.toString()}` })

    expect(await methods(app)).toMatchObject({ password: true, sso: { name: 'Example ID', url: '/auth/oidc' } })
    expect(page.text).toContain('Sign in with Example ID')
    expect(page.text).toContain('/auth/oidc?return_to=%2Foauth%2Fauthorize')
  })

  test('may exclude passwords', async () => {
    const strict = await createTestApp({ ...provider.settings, GROUNDSTATE_PASSWORD_SIGN_IN: 'off' })
    await createUser(strict, { username: 'ada', password: 'a good password' })

    const response = await strict.request({
      method: 'POST',
      url: '/api/v2/sessions',
      headers: { origin: 'http://groundstate.test' },
      body: { data: { type: 'sessions', attributes: { username: 'ada', password: 'a good password' } } },
    })

    expect(response.status).toBe(403)
    expect(await methods(strict)).toMatchObject({ password: false })
  })

  test('contain no provider if none is configured', async () => {
    const plain = await createTestApp()

    expect(await methods(plain)).toMatchObject({ password: true, sso: null })
    expect((await plain.request({ url: '/auth/oidc' })).status).toBe(404)
  })
})
