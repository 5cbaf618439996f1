import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { cookiesOf, createIdentityProvider } from '../../../testing/identity-provider.ts'
import { createReplica } from '../../../testing/replica.ts'
import { createTeam } from '../../../testing/teams.ts'
import { sweepSessionsJob } from '../../identity/sessions/service.ts'

const SETTINGS = '/admin/sign-in-settings'
let provider: Awaited<ReturnType<typeof createIdentityProvider>>
let app: TestApp
let admin: TestUser
let complete: Record<string, unknown>
beforeAll(async () => {
  provider = await createIdentityProvider()
  app = await createTestApp()
  admin = await createUser(app, { username: 'root', email: 'root@example.com', isSiteAdmin: true })
  complete = {
    issuer: provider.issuer,
    'client-id': provider.settings.GROUNDSTATE_OIDC_CLIENT_ID,
    'client-secret': provider.settings.GROUNDSTATE_OIDC_CLIENT_SECRET,
    scopes: provider.settings.GROUNDSTATE_OIDC_SCOPES,
    name: 'Example ID',
  }
})
beforeEach(async () => {
  provider.people.clear()
  await app.db.deleteFrom('sign_in_settings').execute()
  await app.db.deleteFrom('sign_in_trials').execute()
})

type Method = 'GET' | 'POST' | 'PATCH'
async function send(method: Method, path: string, body?: unknown, on = app, token: string | undefined = admin.token) {
  const response = await on.request({ method, url: `/api/v2${path}`, token, body })
  return { status: response.status, body: response.json(), text: response.text }
}
const patch = async (attributes: object, on = app) => send('PATCH', SETTINGS, attributes, on)
const methods = async (on = app) => (await send('GET', '/sessions/methods', undefined, on)).body.data.attributes

/** Signs in as a person in a trial, and returns its result. */
async function tryAs(person: string | undefined, draft: object = {}) {
  const created = await send('POST', '/admin/sign-in-trials', draft)
  const { id, attributes } = created.body.data
  const response = await provider.signIn(app, person, { start: attributes.url })
  return { response, trial: (await send('GET', `/admin/sign-in-trials/${id}`)).body.data.attributes }
}

describe('the settings', () => {
  test('have defaults, without a provider', async () => {
    const { body } = await send('GET', SETTINGS)

    expect(body.data.attributes).toMatchObject({
      issuer: null,
      'has-client-secret': false,
      name: 'single sign-on',
      scopes: 'openid profile email',
      'group-claim': 'groups',
      'password-sign-in': true,
      'redirect-uri': 'http://groundstate.test/auth/oidc/callback',
      'fixed-attributes': [],
    })
  })

  test('take effect on all replicas at once, and the secret is never shown nor stored in the clear', async () => {
    const replica = await createReplica(app)
    provider.people.set('ada', { preferred_username: 'ada' })

    const saved = await patch(complete)
    const elsewhere = await replica.fastify.inject('/api/v2/sessions/methods')
    const signedIn = await provider.signIn(app, 'ada')
    const row = await app.db.selectFrom('sign_in_settings').selectAll().executeTakeFirstOrThrow()

    expect(saved.body.data.attributes).toMatchObject({ 'client-secret': null, 'has-client-secret': true })
    expect(elsewhere.json().data.attributes.sso).toEqual({ name: 'Example ID', url: '/auth/oidc' })
    expect(cookiesOf(signedIn)).toEqual([expect.stringMatching(/^groundstate_session=/)])
    expect(row.client_secret?.toString('latin1')).not.toContain(complete['client-secret'])
  })

  test('are audited with what was before and after, without the secret', async () => {
    await patch(complete)
    await patch({ name: 'Corporate ID' })

    const events = await app.db
      .selectFrom('audit_events')
      .select('meta')
      .where('resource_type', '=', 'sign_in_settings')
      .orderBy('created_at', 'desc')
      .limit(2)
      .execute()

    expect(events[0]?.meta).toEqual({
      changes: ['name'],
      before: { name: 'Example ID' },
      after: { name: 'Corporate ID' },
    })
    expect(events[1]?.meta).toMatchObject({
      before: { issuer: null, 'client-secret': '(changed)' },
      after: { issuer: provider.issuer, 'client-secret': '(changed)' },
    })
  })

  test('keep what a change does not name, and null removes the provider', async () => {
    await patch(complete)

    const renamed = await patch({ name: 'Corporate ID' })
    const removed = await patch({ issuer: null })

    expect(renamed.body.data.attributes).toMatchObject({ issuer: provider.issuer, 'has-client-secret': true })
    expect(removed.body.data.attributes).toMatchObject({ issuer: null, 'client-id': null, name: 'Corporate ID' })
    expect(await methods()).toMatchObject({ password: true, sso: null })
  })

  test.each<[string, object, string, string]>([
    ['an issuer without an id', { issuer: 'https://id.example.com' }, 'client-id', 'client-id is missing'],
    ['an id without an issuer', { 'client-id': 'x' }, 'issuer', 'issuer is missing'],
    ['an issuer that is no address', { issuer: 'id.example.com', 'client-id': 'x' }, 'issuer', 'https://'],
    ['a metadata address', { issuer: 'http://169.254.169.254', 'client-id': 'x' }, 'issuer', 'link-local'],
    ['scopes without openid', { scopes: 'profile email' }, 'scopes', 'contain openid'],
    ['no passwords without a provider', { 'password-sign-in': false }, 'password-sign-in', 'could not sign in'],
  ])('reject %s', async (_, attributes, name, detail) => {
    const { status, body } = await patch(attributes)

    expect([status, body.errors[0].source.pointer]).toEqual([422, `/data/attributes/${name}`])
    expect(body.errors[0].detail).toContain(detail)
  })

  test('do not send a saved secret to another issuer', async () => {
    await patch(complete)

    const moved = await patch({ issuer: 'https://evil.example' })
    const tested = await send('POST', `${SETTINGS}/actions/test`, { issuer: 'https://evil.example' })

    expect([moved, tested].map(({ status, body }) => [status, body.errors[0].source.pointer])).toEqual([
      [422, '/data/attributes/client-secret'],
      [422, '/data/attributes/client-secret'],
    ])
  })

  test('of the environment take precedence and cannot be changed', async () => {
    await patch({ ...complete, name: 'Saved' })
    const fixed = await createTestApp({ ...provider.settings, GROUNDSTATE_PASSWORD_SIGN_IN: 'false' })
    const root = await createUser(fixed, { isSiteAdmin: true })
    const on = (method: Method, body?: object) => send(method, SETTINGS, body, fixed, root.token)

    const shown = await on('GET')
    const changed = await on('PATCH', { name: 'Other' })
    const enabled = await on('PATCH', { 'password-sign-in': true })

    expect(shown.body.data.attributes).toMatchObject({ name: 'Example ID', 'password-sign-in': false })
    expect(shown.body.data.attributes['fixed-attributes']).toContain('password-sign-in')
    expect([changed.status, enabled.status]).toEqual([422, 422])
    expect(changed.body.errors[0].detail).toContain('GROUNDSTATE_OIDC_ISSUER')
  })
})

describe('a test', () => {
  const check = async (draft: object, on = app, token = admin.token) =>
    send('POST', `${SETTINGS}/actions/test`, draft, on, token)
  const statuses = (result: { body: { checks: { name: string; status: string }[] } }) =>
    Object.fromEntries(result.body.checks.map(({ name, status }) => [name, status]))

  test('passes for a provider that knows this server, and saves nothing', async () => {
    const result = await check(complete)

    // The provider is on loopback, without TLS.
    expect(result.body.passed).toBe(true)
    expect(statuses(result)).toEqual({
      discovery: 'warning',
      issuer: 'passed',
      endpoints: 'passed',
      keys: 'passed',
      'redirect-uri': 'passed',
      client: 'passed',
    })
    expect(await methods()).toMatchObject({ password: true, sso: null })
    expect(result.text).not.toContain(complete['client-secret'])
  })

  test('finds a wrong secret', async () => {
    const result = await check({ ...complete, 'client-secret': 'wrong' })

    expect(result.body.passed).toBe(false)
    expect(statuses(result)).toMatchObject({ 'redirect-uri': 'passed', client: 'failed' })
  })

  test('finds a redirect URI that is not registered, with what to register', async () => {
    const other = await createTestApp({
      GROUNDSTATE_BASE_URL: 'http://other.test',
      GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
    })
    const root = await createUser(other, { isSiteAdmin: true })

    const result = await check(complete, other, root.token)

    expect(result.body.checks[4]).toMatchObject({ name: 'redirect-uri', status: 'failed' })
    expect(result.body.checks[4].advice).toContain('http://other.test/auth/oidc/callback')
  })

  test('finds a wrong issuer, and what does not answer', async () => {
    const named = await check({ ...complete, issuer: provider.issuer.replace('127.0.0.1', 'localhost') })
    const silent = await check({ ...complete, issuer: 'http://127.0.0.1:1' })

    expect(statuses(named)['issuer']).toBe('failed')
    expect(silent.body.checks[0].detail).toContain('connection refused')
    expect(statuses(silent)).toMatchObject({ discovery: 'failed', issuer: 'skipped', client: 'skipped' })
  })

  test('calls no private address unless the operator allows it', async () => {
    const guarded = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })
    const root = await createUser(guarded, { isSiteAdmin: true })

    const literal = await check(complete, guarded, root.token)
    const named = await check(
      { ...complete, issuer: provider.issuer.replace('127.0.0.1', 'localhost') },
      guarded,
      root.token,
    )

    expect(literal.status).toBe(422)
    expect(named.body.checks[0].detail).toContain('GROUNDSTATE_ALLOW_PRIVATE_URLS')
  })
})

test('a trial is deleted after a day', async () => {
  const { id } = (await send('POST', '/admin/sign-in-trials', complete)).body.data
  const sweep = async () => {
    await app.jobs.enqueue(app.db, sweepSessionsJob, {})
    await app.runJobs()
    return (await send('GET', `/admin/sign-in-trials/${id}`)).status
  }

  expect(await sweep()).toBe(200)
  app.clock.advance(24 * 3_600_000 + 1)
  expect(await sweep()).toBe(404)
})

describe('a trial', () => {
  test('shows the claims and what a sign-in would do, and changes no account', async () => {
    const owner = await createUser(app)
    const organization = await createOrganization(app, owner)
    const team = await createTeam(app, organization.id, { name: 'ops' })
    provider.people.set('new', { preferred_username: 'new', email: 'new@example.com', groups: ['Ops', 'none'] })
    const before = await app.db.selectFrom('users').select('id').execute()

    const { response, trial } = await tryAs('new', complete)

    expect(response.headers['location']).toMatch(/^\/app\/admin\/sign-in\?trial=trial-/)
    expect(cookiesOf(response)).toEqual([])
    expect(trial).toMatchObject({
      status: 'succeeded',
      'proves-sign-in': false,
      result: {
        subject: 'new',
        email: 'new@example.com',
        'email-verified': false,
        groups: ['Ops', 'none'],
        teams: [{ id: team, name: 'ops', organization: organization.name }],
        account: { outcome: 'create', username: 'new' },
      },
    })
    expect(await app.db.selectFrom('users').select('id').execute()).toEqual(before)
    expect(await app.db.selectFrom('sso_identities').select('subject').where('subject', '=', 'new').execute()).toEqual(
      [],
    )
  })

  test('reports why a sign-in failed', async () => {
    const denied = await tryAs(undefined, complete)
    const wrong = await tryAs('new', { ...complete, 'client-secret': 'wrong' })

    expect([denied.trial.status, denied.trial.result.error]).toEqual(['failed', expect.stringContaining('declined')])
    expect(wrong.trial.result.error).toContain('the client secret is wrong')
  })

  test('can be used once, and within the time limit', async () => {
    const { body } = await send('POST', '/admin/sign-in-trials', complete)
    const { id, attributes } = body.data
    provider.people.set('ada', {})
    await provider.signIn(app, 'ada', { start: attributes.url })
    const again = await app.request({ url: attributes.url })
    const late = (await send('POST', '/admin/sign-in-trials', complete)).body.data
    app.clock.advance(16 * 60_000)

    expect([again.status, (await app.request({ url: late.attributes.url })).status]).toEqual([404, 404])
    expect((await send('GET', `/admin/sign-in-trials/${id}`)).body.data.attributes.status).toBe('succeeded')
    expect((await send('GET', `/admin/sign-in-trials/${late.id}`)).body.data.attributes.status).toBe('expired')
  })
})

describe('passwords', () => {
  const off = { 'password-sign-in': false }
  const asRoot = () => provider.people.set('root', { email: 'root@example.com', email_verified: true })

  test('can be disabled only after an administrator has signed in with the same settings', async () => {
    asRoot()
    provider.people.set('someone', { preferred_username: 'someone' })
    await patch(complete)

    const untried = await patch(off)
    await tryAs('someone')
    const byOther = await patch(off)
    const { trial } = await tryAs('root')
    const otherwise = await patch({ ...off, scopes: 'openid' })
    const proved = await patch(off)

    expect([untried.status, byOther.status, otherwise.status, proved.status]).toEqual([422, 422, 422, 200])
    expect(untried.body.errors[0].source.pointer).toBe('/data/attributes/password-sign-in')
    expect(trial).toMatchObject({ 'proves-sign-in': true, result: { account: { outcome: 'link', username: 'root' } } })
    expect(await methods()).toMatchObject({ password: false })
  })

  test('that are disabled protect the provider from untried changes', async () => {
    asRoot()
    await patch(complete)
    await tryAs('root')
    await patch(off)

    const renamed = await patch({ name: 'Other name' })
    const removed = await patch({ issuer: null })
    const moved = await patch({ ...complete, 'client-secret': 'another' })
    app.clock.advance(25 * 3_600_000)
    const enabled = await patch({ 'password-sign-in': true })
    const tooLate = await patch(off)

    expect([renamed, removed, moved, enabled, tooLate].map(({ status }) => status)).toEqual([200, 422, 422, 200, 422])
  })
})
