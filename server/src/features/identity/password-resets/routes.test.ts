import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createBrowser } from '../../../testing/browser.ts'
import { type TestUser, createUser } from '../../../testing/factories.ts'
import { type TestMailServer, startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
import { ATTEMPT_LIMITS } from '../sessions/count-attempts.ts'
import { totpCode } from '../sessions/totp.ts'

const [OLD, NEW] = ['the old password', 'the new password']
const HOUR_MS = 3_600_000
let app: TestApp
let mail: TestMailServer
let admin: TestUser
beforeAll(async () => {
  const port = await freePort()
  mail = await startMailServer(port)
  app = await createTestApp({
    GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
    GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
  })
  admin = await createUser(app, { isSiteAdmin: true })
})

const post = (path: string, attributes: object, to = app) =>
  to.request({ method: 'POST', url: `/api/v2${path}`, body: { data: { attributes } } })
const forget = (username: string) => post('/password-resets', { username })
const show = (secret: string) => post('/password-resets/actions/show', { secret })
const set = (secret: string, password = NEW) => post('/password-resets/actions/set-password', { secret, password })
const signIn = (username: string, password: string, otp?: string) => post('/sessions', { username, password, otp })
const reset = (id: string, token = admin.token) =>
  app.request({ method: 'POST', url: `/api/v2/admin/users/${id}/actions/reset_password`, token })
const secretOf = (text: string) => /\/app\/reset-password#([\w-]{43})/.exec(text)?.[1] ?? ''
const linkFor = async (user: TestUser) => secretOf((await reset(user.id)).json().data.attributes.url)

describe('a link by an administrator', () => {
  test('sets the password once, ends the sessions and is audited', async () => {
    const user = await createUser(app, { password: OLD })
    const browser = await createBrowser(app, user.id)

    const created = await reset(user.id)
    const secret = secretOf(created.json().data.attributes.url)
    const shown = await show(secret)
    const done = await set(secret)
    await app.runJobs()

    expect(created.status).toBe(200)
    expect(created.headers['cache-control']).toBe('no-store')
    expect(created.json().data.attributes['mailed-to']).toBe(user.email)
    expect(secretOf(mail.to(user.email)[0]?.text ?? '')).toBe(secret)
    expect(shown.json().data).toMatchObject({ attributes: { username: user.username } })
    expect(done.status).toBe(204)
    expect((await browser.request({ url: '/api/v2/account/details' })).status).toBe(401)
    expect((await signIn(user.username, OLD)).status).toBe(401)
    expect((await signIn(user.username, NEW)).status).toBe(201)
    expect((await set(secret)).status).toBe(404)
    const events = await app.db.selectFrom('audit_events').selectAll().where('resource_id', '=', user.id).execute()
    expect(events.map(({ action, actor_id: actor }) => [action, actor])).toEqual([
      ['sign_in', user.id],
      ['create_password_reset', admin.id],
      ['reset_password', user.id],
      ['sign_in_failed', null],
      ['sign_in', user.id],
    ])
    expect(JSON.stringify(events)).not.toContain(secret)
  })

  test('works for 24 hours, and until the next one or a change of the account', async () => {
    const user = await createUser(app, { password: OLD })
    const change = (attributes: object) =>
      app.request({ method: 'PATCH', url: `/api/v2/admin/users/${user.id}`, token: admin.token, body: attributes })

    const replaced = await linkFor(user)
    const beforeAddress = await linkFor(user)
    await change({ email: 'moved@example.com' })
    const beforePassword = await linkFor(user)
    await change({ password: 'an even newer one' })
    const expired = await linkFor(user)
    app.clock.advance(24 * HOUR_MS)

    for (const secret of [replaced, beforeAddress, beforePassword, expired]) {
      expect((await set(secret)).json().errors[0].detail).toBe(
        'the link has expired, was used or replaced: ask for a new one',
      )
    }
  })

  test('keeps two-factor authentication', async () => {
    const user = await createUser(app, { password: OLD })
    const act = (action: string, attributes: object) =>
      app.request({
        method: 'POST',
        url: `/api/v2/account/two-factor/actions/${action}`,
        token: user.token,
        body: { data: { attributes } },
      })
    const { secret } = (await act('enroll', { password: OLD })).json().data.attributes
    await act('verify', { otp: totpCode(secret, app.now()) })

    await set(await linkFor(user))

    expect((await signIn(user.username, NEW)).json().errors[0].source.pointer).toBe('/data/attributes/otp')
    app.clock.advance(31_000)
    expect((await signIn(user.username, NEW, totpCode(secret, app.now()))).status).toBe(201)
  })

  test('lets a user in who guessed too often', async () => {
    const user = await createUser(app, { password: OLD })
    for (let count = 0; count < 11; count += 1) await signIn(user.username, 'a wrong one')
    const blocked = await signIn(user.username, OLD)

    await set(await linkFor(user))

    expect(blocked.status).toBe(429)
    expect((await signIn(user.username, NEW)).status).toBe(201)
  })

  test('comes with a new account without a password', async () => {
    const create = (attributes: object) =>
      app.request({ method: 'POST', url: '/api/v2/admin/users', token: admin.token, body: attributes })

    const without = await create({ username: 'without', email: 'without@example.com' })
    const withOne = await create({ username: 'with', email: 'with@example.com', password: OLD })
    const done = await set(secretOf(without.json().included[0].attributes.url))

    expect(without.json().included).toMatchObject([{ type: 'password-resets', id: without.json().data.id }])
    expect(withOne.json().included).toBeUndefined()
    expect(done.status).toBe(204)
    expect((await signIn('without', NEW)).status).toBe(201)
  })

  test('is not created or used for a suspended account', async () => {
    const user = await createUser(app, { password: OLD })
    await app.request({
      method: 'POST',
      url: `/api/v2/admin/users/${user.id}/actions/suspend`,
      token: admin.token,
    })

    expect((await reset(user.id)).status).toBe(409)
    expect((await reset(user.id, user.token)).status).toBe(401)
  })

  test('a password that is too short is rejected, and the link still works', async () => {
    const user = await createUser(app, { password: OLD })
    const secret = await linkFor(user)

    const short = await set(secret, 'short')

    expect(short.status).toBe(422)
    expect(short.json().errors[0].source.pointer).toBe('/data/attributes/password')
    expect((await show(secret)).status).toBe(200)
  })
})

describe('a forgotten password', () => {
  test('is reset with a mailed link, by username or address', async () => {
    const user = await createUser(app, { password: OLD, email: 'Forgetful@example.com' })

    const statuses = [await forget('forgetful@EXAMPLE.com'), await forget(user.username)].map(({ status }) => status)
    await app.runJobs()
    const [first, second] = mail.to('Forgetful@example.com')

    expect(statuses).toEqual([204, 204])
    expect((await set(secretOf(first?.text ?? ''))).status).toBe(204)
    expect((await set(secretOf(second?.text ?? ''))).status).toBe(404)
    expect((await signIn(user.username, NEW)).status).toBe(201)
  })

  test('has the same response for every login, and sends nothing to accounts without a password', async () => {
    const sso = await createUser(app)
    const before = mail.mails.length

    const responses = [await forget('nobody-here'), await forget(sso.username), await forget(sso.email)]
    await app.runJobs()

    expect(responses.map(({ status }) => status)).toEqual([204, 204, 204])
    expect(mail.mails).toHaveLength(before)
  })

  test('may be asked for five times in 15 minutes', async () => {
    const statuses = []
    for (let count = 0; count < 6; count += 1) statuses.push((await forget('impatient')).status)

    expect(statuses).toEqual([204, 204, 204, 204, 204, 429])
  })
})

test('guessing links is limited like guessing passwords', async () => {
  const guessing = await createTestApp()
  const statuses = new Set<number>()
  for (let count = 0; count < 101; count += 1)
    statuses.add((await post('/password-resets/actions/show', { secret: `guess-${count}` }, guessing)).status)

  expect([...statuses]).toEqual([404, 429])
})

test('an exhausted address adds no counter for a new login', async () => {
  const counters = async () => app.db.selectFrom('sign_in_attempts').select('key').execute()
  for (let index = 0; index <= ATTEMPT_LIMITS.address; index += 1) await show('guess')
  const before = await counters()

  expect((await forget('another-login')).status).toBe(429)
  expect(await counters()).toHaveLength(before.length)
})

test('without a mail server or passwords, the sign-in methods offer no reset, and there is none', async () => {
  const withoutMail = await createTestApp()
  const withoutPasswords = await createTestApp({
    GROUNDSTATE_PASSWORD_SIGN_IN: 'false',
    GROUNDSTATE_OIDC_ISSUER: 'https://id.example.com',
    GROUNDSTATE_OIDC_CLIENT_ID: 'x',
  })
  const methods = async (to: TestApp) =>
    (await to.request({ url: '/api/v2/sessions/methods' })).json().data.attributes['password-reset']

  expect([await methods(app), await methods(withoutMail), await methods(withoutPasswords)]).toEqual([
    true,
    false,
    false,
  ])
  expect((await post('/password-resets', { username: 'a' }, withoutMail)).status).toBe(403)
  expect((await post('/password-resets/actions/show', { secret: 'a' }, withoutPasswords)).status).toBe(403)
})
