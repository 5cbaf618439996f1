import { createHash, randomBytes } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestBrowser, browserWith, cookieOf, createBrowser, form } from '../../../testing/browser.ts'
import { type TestUser, createUser } from '../../../testing/factories.ts'
import { ATTEMPT_LIMITS, countAttempt } from '../sessions/count-attempts.ts'
import { totpCode } from '../sessions/totp.ts'
import { updateUser } from '../users/service.ts'
import { approve } from './service.ts'

const PASSWORD = 'a good password'
const REDIRECT_URI = 'http://localhost:10003/login'

let app: TestApp
let ada: TestUser
beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app, { username: 'ada', password: PASSWORD })
})

/** A client's authorization request, and the verifier that it keeps. */
function newRequest(changes: Record<string, string> = {}) {
  const verifier = randomBytes(30).toString('hex')
  const query = new URLSearchParams({
    client_id: 'terraform-cli',
    redirect_uri: REDIRECT_URI,
    response_type: 'code',
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    state: 'the state',
    ...changes,
  }).toString()
  return { verifier, query, url: `/oauth/authorize?${query}` }
}

function hidden(page: string, name: string) {
  const text = new RegExp(`name="${name}"\\s+value="([^"]*)"`).exec(page)?.[1] ?? ''
  return text.replaceAll(/&#(\d+);/g, (_, code: string) => String.fromCharCode(Number(code)))
}

/** Opens the consent page and presses one of its buttons. */
async function decide(browser: TestBrowser, url: string, decision: string) {
  const page = await browser.request({ url })
  const fields = { query: hidden(page.text, 'query'), csrf: hidden(page.text, 'csrf'), decision }
  return browser.request({ url: '/oauth/authorize', ...form(fields) })
}

async function newCode(browser?: TestBrowser) {
  const request = newRequest()
  const response = await decide(browser ?? (await createBrowser(app, ada.id)), request.url, 'approve')
  const code = new URL(String(response.headers.location)).searchParams.get('code') ?? ''
  return { code, verifier: request.verifier }
}

const exchange = (code: string, verifier: string, changes: Record<string, string> = {}) =>
  app.request({
    url: '/oauth/token',
    ...form({
      grant_type: 'authorization_code',
      client_id: 'terraform-cli',
      code,
      code_verifier: verifier,
      redirect_uri: REDIRECT_URI,
      ...changes,
    }),
  })

test('the CLI signs in: sign-in page, consent, code, token', async () => {
  const { url, verifier } = newRequest()

  const signInPage = await app.request({ url })
  const signedIn = await app.request({
    url: '/oauth/sign-in',
    ...form({ query: hidden(signInPage.text, 'query'), username: 'ada', password: PASSWORD }),
  })
  const browser = browserWith(app, cookieOf(signedIn.headers['set-cookie']))
  const approved = await decide(browser, String(signedIn.headers.location), 'approve')
  const redirect = new URL(String(approved.headers.location))
  const token = await exchange(redirect.searchParams.get('code') ?? '', verifier)

  expect([signInPage.status, signedIn.status, approved.status, token.status]).toEqual([200, 303, 303, 200])
  expect(signInPage.headers['content-type']).toBe('text/html; charset=utf-8')
  expect(redirect.origin + redirect.pathname).toBe(REDIRECT_URI)
  expect(redirect.searchParams.get('state')).toBe('the state')
  expect(token.headers['content-type']).toContain('application/json')
  expect(token.headers['cache-control']).toBe('no-store')
  expect(token.json()).toEqual({ access_token: expect.any(String), token_type: 'bearer' })
  const accessToken = token.json().access_token
  const details = await app.request({ url: '/api/v2/account/details', token: accessToken })
  expect(details.json().data.id).toBe(ada.id)
  const list = await app.request({ url: `/api/v2/users/${ada.id}/authentication-tokens`, token: accessToken })
  expect(list.json().data[0].attributes.description).toBe('terraform login')
})

describe('the pages', () => {
  test('load nothing, run no scripts and cannot be framed', async () => {
    const response = await app.request({ url: newRequest().url })

    const policy = String(response.headers['content-security-policy'])
    const style = /<style>([^]*)<\/style>/.exec(response.text)?.[1] ?? ''
    expect(policy).toContain("default-src 'none'")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).toContain(`'sha256-${createHash('sha256').update(style).digest('base64')}'`)
    expect(response.headers['cache-control']).toBe('no-store')
    expect(response.text).not.toMatch(/<script|style=|\son\w+=/)
  })

  test('the consent page shows the user and the client, and restricts the target of the form', async () => {
    const browser = await createBrowser(app, ada.id)

    const page = await browser.request({ url: newRequest().url })

    expect(page.text).toContain('<strong>ada</strong>')
    expect(page.text).toContain('everything in Groundstate that you can do')
    expect(page.headers['content-security-policy']).toContain("form-action 'self' http://localhost:10003;")
  })

  test('the query is escaped in the page', async () => {
    const state = '"><script>alert(1)</script>'

    const page = await app.request({ url: newRequest({ state }).url })

    expect(page.text).not.toContain('<script')
    expect(new URLSearchParams(hidden(page.text, 'query')).get('state')).toBe(state)
  })

  test('an untrusted redirect URI gets an error page, not a redirect', async () => {
    const response = await app.request({ url: newRequest({ redirect_uri: 'https://evil.example/login' }).url })

    expect(response.status).toBe(400)
    expect(response.headers.location).toBeUndefined()
    expect(response.text).toContain('redirect_uri must be')
  })

  test('other errors are reported to the client', async () => {
    const response = await app.request({ url: newRequest({ code_challenge_method: 'plain' }).url })

    expect(response.status).toBe(302)
    expect(new URL(String(response.headers.location)).searchParams.get('error')).toBe('invalid_request')
  })
})

describe('signing in on the page', () => {
  const post = (fields: Record<string, string>, headers: Record<string, string> = {}) => {
    const { headers: contentType, ...rest } = form({ query: newRequest().query, ...fields })
    return app.request({ url: '/oauth/sign-in', ...rest, headers: { ...contentType, ...headers } })
  }

  test('a wrong password is reported, and the username stays in the form', async () => {
    const response = await post({ username: 'ada<', password: 'wrong' })

    expect(response.status).toBe(401)
    expect(response.text).toContain('Wrong username or password.')
    expect(response.text).toContain('value="ada&#60;"')
    expect(response.headers['set-cookie']).toBeUndefined()
  })

  test('a form from another site is rejected', async () => {
    const response = await post({ username: 'ada', password: PASSWORD }, { origin: 'https://evil.example' })

    expect(response.status).toBe(403)
  })

  test('too many attempts are rejected with the time to wait', async () => {
    const user = await createUser(app, { password: PASSWORD })
    const ctx = { ...app.as(), request: { id: 'test', address: '127.0.0.1', userAgent: undefined } }
    for (let index = 0; index < ATTEMPT_LIMITS.pair; index += 1) await countAttempt(ctx, user.id)

    const response = await post({ username: user.username, password: PASSWORD })

    expect(response.status).toBe(429)
    expect(response.text).toContain('try again in 15 min')
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0)
  })

  /** A user with two-factor authentication, and the current code of their authenticator. */
  async function createTwoFactorUser() {
    const user = await createUser(app, { password: PASSWORD })
    const enable = async () => {
      const act = (action: string, body: unknown) =>
        app.request({ method: 'POST', url: `/api/v2/account/two-factor/actions/${action}`, token: user.token, body })
      const { secret } = (await act('enroll', { password: PASSWORD })).json().data.attributes
      await act('verify', { otp: totpCode(secret, app.now()) })
      app.clock.advance(30_000)
      return () => totpCode(secret, app.now())
    }
    return { user, enable, otp: await enable() }
  }

  test('the two-factor code is requested on a separate page, where a wrong code can be corrected', async () => {
    const { user, otp } = await createTwoFactorUser()

    const codePage = await post({ username: user.username, password: PASSWORD })
    const pending = hidden(codePage.text, 'pending')
    const wrong = await post({ pending, otp: '000000' })
    const right = await post({ pending: hidden(wrong.text, 'pending'), otp: otp() })
    app.clock.advance(5 * 60_000)
    const late = await post({ pending, otp: otp() })
    const forged = await post({ pending: pending.replace(user.id, ada.id), otp: '000000' })

    expect(codePage.headers['set-cookie']).toBeUndefined()
    expect([codePage.status, wrong.status, right.status, late.status, forged.status]).toEqual([200, 401, 303, 401, 401])
    expect(wrong.text).toContain('The code is wrong')
    expect(late.text).toContain('has expired')
    expect(right.headers['set-cookie']).toContain('groundstate_session=')
  })

  const changed = (path: string, body: object, method: 'PATCH' | 'POST' = 'PATCH') => ({ path, body, method })
  test.each([
    ['a new password', [changed('account/password', { current_password: PASSWORD, password: 'another password' })]],
    ['a new password from an administrator', [changed('admin/users/:id', { password: 'another password' })]],
    [
      'a suspension, even a lifted one',
      ['suspend', 'unsuspend'].map((act) => changed(`admin/users/:id/actions/${act}`, {}, 'POST')),
    ],
  ])('%s ends a sign-in that waits for its code', async (_, changes) => {
    const { user, otp } = await createTwoFactorUser()
    const pending = hidden((await post({ username: user.username, password: PASSWORD })).text, 'pending')
    const admin = await createUser(app, { isSiteAdmin: true })
    for (const { path, body, method } of changes) {
      const token = path.startsWith('admin') ? admin.token : user.token
      const attributes = path.startsWith('account') ? { password_confirmation: 'another password', ...body } : body
      const document = { data: { type: 'users', attributes } }
      const response = await app.request({
        method,
        url: `/api/v2/${path.replace(':id', user.id)}`,
        token,
        body: document,
      })
      expect(response.status).toBe(200)
    }

    const response = await post({ pending, otp: otp() })

    expect(response.status).toBe(401)
    expect(response.text).toContain('start again')
    expect(response.headers['set-cookie']).toBeUndefined()
  })

  test('a new authenticator ends a sign-in that waits for the code of the previous one', async () => {
    const { user, enable } = await createTwoFactorUser()
    const pending = hidden((await post({ username: user.username, password: PASSWORD })).text, 'pending')
    const admin = await createUser(app, { isSiteAdmin: true })
    const url = `/api/v2/admin/users/${user.id}/actions/disable_two_factor`
    await app.request({ method: 'POST', url, token: admin.token })
    const otp = await enable()

    const response = await post({ pending, otp: otp() })

    expect([response.status, response.headers['set-cookie']]).toEqual([401, undefined])
  })

  test('a form without a valid request is rejected', async () => {
    expect((await post({ query: 'client_id=other', username: 'ada', password: PASSWORD })).status).toBe(400)
  })
})

describe('the consent', () => {
  test('can be denied', async () => {
    const response = await decide(await createBrowser(app, ada.id), newRequest().url, 'deny')

    const redirect = new URL(String(response.headers.location))
    expect(redirect.searchParams.get('error')).toBe('access_denied')
    expect(redirect.searchParams.get('state')).toBe('the state')
    expect(redirect.searchParams.has('code')).toBe(false)
  })

  test('must come from the page, in the signed-in browser', async () => {
    const [browser, other] = [await createBrowser(app, ada.id), await createBrowser(app, ada.id)]
    const { url, query } = newRequest()
    const csrf = hidden((await browser.request({ url })).text, 'csrf')
    const send = (fields: Record<string, string>, headers: Record<string, string>) => {
      const { headers: contentType, ...rest } = form({ query, decision: 'approve', ...fields })
      return app.request({ url: '/oauth/authorize', ...rest, headers: { ...contentType, ...headers } })
    }
    const origin = 'http://groundstate.test'
    const { cookie } = browser

    const statuses = await Promise.all([
      send({ csrf }, { cookie, origin }),
      send({ csrf: 'x'.repeat(43) }, { cookie, origin }),
      send({ csrf: '' }, { cookie, origin }),
      send({}, { cookie, origin }),
      send({ csrf }, { cookie, origin: 'https://evil.example' }),
      send({ csrf }, { cookie }),
      send({ csrf }, { origin }),
      send({ csrf }, { cookie: other.cookie, origin }),
      send({ csrf }, { origin, authorization: `Bearer ${ada.token}` }),
    ])

    expect(statuses.map((response) => response.status)).toEqual([303, 403, 403, 422, 403, 403, 403, 403, 403])
  })

  test('is rejected if the session ends during the request', async () => {
    const actor = { ...ada.actor, tokenId: undefined, sessionId: 'ses-ended' }
    const request = { redirectUri: REDIRECT_URI, codeChallenge: 'x'.repeat(43), state: undefined }

    await expect(approve(app.as(actor), request)).rejects.toThrow('the session has ended')
  })

  test('allows switching to another account', async () => {
    const browser = await createBrowser(app, ada.id)
    const page = await browser.request({ url: newRequest().url })
    const fields = { query: hidden(page.text, 'query'), csrf: hidden(page.text, 'csrf') }

    const response = await browser.request({ url: '/oauth/sign-out', ...form(fields) })

    expect(response.status).toBe(303)
    expect(response.headers['set-cookie']).toContain('Max-Age=0')
    expect((await browser.request({ url: String(response.headers.location) })).text).toContain('Password')
  })
})

describe('the exchange', () => {
  const error = (response: Awaited<ReturnType<typeof exchange>>) => [response.status, response.json().error]

  test('accepts a code once; the second use revokes the token of the first', async () => {
    const { code, verifier } = await newCode()

    const first = await exchange(code, verifier)
    const second = await exchange(code, verifier)

    expect(first.status).toBe(200)
    expect(error(second)).toEqual([400, 'invalid_grant'])
    const details = await app.request({ url: '/api/v2/account/details', token: first.json().access_token })
    expect(details.status).toBe(401)
  })

  test('returns at most one token for concurrent uses of a code', async () => {
    const { code, verifier } = await newCode()

    const responses = await Promise.all([exchange(code, verifier), exchange(code, verifier)])

    expect(responses.map((response) => response.status).toSorted((a, b) => a - b)).toEqual([200, 400])
  })

  test('requires the verifier of the challenge; a wrong one consumes the code', async () => {
    const { code, verifier } = await newCode()

    expect(error(await exchange(code, 'x'.repeat(60)))).toEqual([400, 'invalid_grant'])
    expect(error(await exchange(code, verifier))).toEqual([400, 'invalid_grant'])
  })

  test('requires the redirect_uri of the authorization request', async () => {
    const { code, verifier } = await newCode()

    const response = await exchange(code, verifier, { redirect_uri: 'http://localhost:10004/login' })

    expect(error(response)).toEqual([400, 'invalid_grant'])
  })

  test('is rejected after five minutes', async () => {
    const { code, verifier } = await newCode()

    app.clock.advance(5 * 60_000)

    expect(error(await exchange(code, verifier))).toEqual([400, 'invalid_grant'])
  })

  test('is rejected for an account suspended in the meantime', async () => {
    const { code, verifier } = await newCode()
    await updateUser(app.as(), ada.id, { suspended_at: app.now() })

    const response = await exchange(code, verifier)
    await updateUser(app.as(), ada.id, { suspended_at: null })

    expect(error(response)).toEqual([400, 'invalid_grant'])
  })

  test.each([
    ['signing out', 'DELETE', '/api/v2/sessions/current', undefined],
    ['signing out everywhere', 'DELETE', '/api/v2/account/sessions', undefined],
    [
      'a new password',
      'PATCH',
      '/api/v2/account/password',
      { current_password: PASSWORD, password: 'another password', password_confirmation: 'another password' },
    ],
  ] as const)('is rejected once %s has ended the session that approved it', async (_, method, url, attributes) => {
    const user = await createUser(app, { password: PASSWORD })
    const [browser, other] = [await createBrowser(app, user.id), await createBrowser(app, user.id)]
    const { code, verifier } = await newCode(browser)
    const body = attributes && { data: { type: 'users', attributes } }
    const ended = await (method === 'PATCH' ? other : browser).request({ method, url, body })
    expect(ended.status).toBeLessThan(300)

    expect(error(await exchange(code, verifier))).toEqual([400, 'invalid_grant'])
  })

  test('is rejected after a suspension, even a lifted one, and after the session has expired', async () => {
    const [user, admin] = [await createUser(app), await createUser(app, { isSiteAdmin: true })]
    const suspended = await newCode(await createBrowser(app, user.id))
    for (const action of ['suspend', 'unsuspend'])
      await app.request({ method: 'POST', url: `/api/v2/admin/users/${user.id}/actions/${action}`, token: admin.token })
    const old = await createBrowser(app, user.id)
    for (let day = 0; day < 30; day += 10) {
      app.clock.advance(10 * 24 * 60 * 60_000 - 60_000)
      await old.request({ url: '/api/v2/sessions/current' })
    }
    const expired = await newCode(old)
    app.clock.advance(4 * 60_000)

    expect(error(await exchange(suspended.code, suspended.verifier))).toEqual([400, 'invalid_grant'])
    expect(error(await exchange(expired.code, expired.verifier))).toEqual([400, 'invalid_grant'])
  })

  test('accepts a code after another session of the user has ended', async () => {
    const [browser, other] = [await createBrowser(app, ada.id), await createBrowser(app, ada.id)]
    const { code, verifier } = await newCode(browser)
    await other.request({ method: 'DELETE', url: '/api/v2/sessions/current' })

    expect((await exchange(code, verifier)).status).toBe(200)
  })

  test('a second use revokes the token even after the session has ended', async () => {
    const browser = await createBrowser(app, ada.id)
    const { code, verifier } = await newCode(browser)
    const first = await exchange(code, verifier)
    await browser.request({ method: 'DELETE', url: '/api/v2/sessions/current' })

    await exchange(code, verifier)

    const details = await app.request({ url: '/api/v2/account/details', token: first.json().access_token })
    expect(details.status).toBe(401)
  })

  test.each([
    [{ grant_type: 'password' }, 'unsupported_grant_type'],
    [{ grant_type: '' }, 'invalid_request'],
    [{ client_id: 'other' }, 'invalid_client'],
    [{ code: '' }, 'invalid_request'],
    [{ code: 'unknown' }, 'invalid_grant'],
    [{ code_verifier: '' }, 'invalid_request'],
    [{ redirect_uri: '' }, 'invalid_request'],
  ])('%j is %s', async (changes, code) => {
    expect(error(await exchange('c', 'v', changes))).toEqual([400, code])
  })

  test('accepts only forms', async () => {
    const response = await app.request({ method: 'POST', url: '/oauth/token', body: { code: 'c' } })

    expect(error(response)).toEqual([400, 'invalid_request'])
    expect(error(await app.request({ method: 'POST', url: '/oauth/token' }))).toEqual([400, 'invalid_request'])
  })
})
