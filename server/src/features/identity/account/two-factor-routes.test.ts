import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { startReceiver } from '../../../testing/receiver.ts'
import { createTask } from '../../../testing/task-runs.ts'
import { updateOrganization } from '../../organizations/organizations/store.ts'
import { ATTEMPT_LIMITS, countCode } from '../sessions/count-attempts.ts'
import { totpCode } from '../sessions/totp.ts'

const PASSWORD = 'a good password'
let app: TestApp
beforeAll(async () => {
  app = await createTestApp()
})

const act = (user: TestUser, action: string, body: unknown) =>
  app.request({ method: 'POST', url: `/api/v2/account/two-factor/actions/${action}`, token: user.token, body })
const signIn = (user: TestUser, otp?: string) =>
  app.request({ method: 'POST', url: '/api/v2/sessions', body: { username: user.username, password: PASSWORD, otp } })

/** A user with two-factor authentication, and the next code of the authenticator. */
async function enrolled() {
  const user = await createUser(app, { password: PASSWORD })
  const { secret } = (await act(user, 'enroll', { password: PASSWORD })).json().data.attributes
  const code = () => {
    app.clock.advance(30_000)
    return totpCode(secret, app.now())
  }
  const verified = await act(user, 'verify', { otp: code() })
  return { user, code, recoveryCodes: verified.json().data.attributes['recovery-codes'] as string[] }
}

describe('enrolling', () => {
  test('takes effect with the first code, which returns recovery codes', async () => {
    const user = await createUser(app, { password: PASSWORD })

    const started = await act(user, 'enroll', { password: PASSWORD })
    const { secret, uri } = started.json().data.attributes
    const early = await signIn(user)
    const wrong = await act(user, 'verify', { otp: '000000' })
    const verified = await act(user, 'verify', { otp: totpCode(secret, app.now()) })
    const details = await app.request({ url: '/api/v2/account/details', token: user.token })

    expect(started.status).toBe(200)
    expect(uri).toContain(`secret=${secret}`)
    expect(early.status).toBe(201)
    expect(wrong.status).toBe(422)
    expect(verified.json().data.attributes['recovery-codes']).toHaveLength(10)
    expect(details.json().data.attributes['two-factor']).toEqual({ enabled: true, verified: true })
  })

  test('requires the password, and is rejected when already enabled', async () => {
    const { user } = await enrolled()

    expect((await act(user, 'enroll', { password: 'wrong' })).status).toBe(422)
    expect((await act(user, 'enroll', { password: PASSWORD })).status).toBe(409)
    expect((await act(user, 'enroll', undefined)).status).toBe(422)
  })

  test('ends when the password changes', async () => {
    const user = await createUser(app, { password: PASSWORD })
    const { secret } = (await act(user, 'enroll', { password: PASSWORD })).json().data.attributes
    const attributes = { current_password: PASSWORD, password: 'another one', password_confirmation: 'another one' }
    const body = { data: { type: 'users', attributes } }
    await app.request({ method: 'PATCH', url: '/api/v2/account/password', token: user.token, body })

    const verified = await act(user, 'verify', { otp: totpCode(secret, app.now()) })

    expect(verified.status).toBe(422)
  })

  test('stores the secret encrypted', async () => {
    const user = await createUser(app, { password: PASSWORD })
    const { secret } = (await act(user, 'enroll', { password: PASSWORD })).json().data.attributes

    const row = await app.db
      .selectFrom('two_factor_secrets')
      .select('secret')
      .where('user_id', '=', user.id)
      .executeTakeFirstOrThrow()

    expect(row.secret.toString('latin1')).not.toContain(secret)
  })
})

describe('signing in', () => {
  test('requires a code, which works once', async () => {
    const { user, code } = await enrolled()
    const fresh = code()

    const without = await signIn(user)
    const wrong = await signIn(user, '000000')
    const right = await signIn(user, fresh)
    const again = await signIn(user, fresh)

    expect([without.status, wrong.status, right.status, again.status]).toEqual([401, 401, 201, 401])
    expect(without.json().errors[0].source.pointer).toBe('/data/attributes/otp')
  })

  test('a recovery code works once, however it is typed', async () => {
    const { user, recoveryCodes } = await enrolled()
    const code = recoveryCodes[0]?.toUpperCase().replaceAll('-', ' ')

    expect((await signIn(user, code)).status).toBe(201)
    expect((await signIn(user, code)).status).toBe(401)
    expect((await signIn(user, recoveryCodes[1])).status).toBe(201)
  })

  test('attempts with codes are limited, even with the right password', async () => {
    const { user, code } = await enrolled()
    expect((await signIn(user, '000000')).status).toBe(401)
    // From separate addresses.
    for (let index = 1; index < ATTEMPT_LIMITS.codes; index += 1) {
      const request = { id: 'test', address: `203.0.113.${index}`, userAgent: undefined }
      await countCode({ ...app.as(), request }, user.id)
    }

    expect((await signIn(user, code())).status).toBe(429)
    app.clock.advance(ATTEMPT_LIMITS.windowMs)
    expect((await signIn(user, code())).status).toBe(201)
  })
})

test('new recovery codes replace the old ones', async () => {
  const { user, code, recoveryCodes } = await enrolled()

  const renewed = await act(user, 'renew-recovery-codes', { password: PASSWORD, otp: code() })

  expect((await signIn(user, recoveryCodes[0])).status).toBe(401)
  expect((await signIn(user, renewed.json().data.attributes['recovery-codes'][0])).status).toBe(201)
})

test('disabling requires the password and a code', async () => {
  const { user, code } = await enrolled()

  expect((await act(user, 'disable', { password: 'wrong', otp: code() })).status).toBe(422)
  expect((await act(user, 'disable', { password: PASSWORD, otp: '000000' })).status).toBe(422)
  expect((await act(user, 'disable', { password: PASSWORD, otp: code() })).status).toBe(204)
  expect((await signIn(user)).status).toBe(201)
  expect((await act(user, 'disable', { password: PASSWORD, otp: code() })).status).toBe(409)
})

test('an organization that requires two-factor authentication rejects members without it, with the reason', async () => {
  const owner = await createUser(app, { password: PASSWORD })
  const elsewhere = await createUser(app)
  const mine = await createOrganization(app, owner)
  const theirs = await createOrganization(app, elsewhere)
  const receiver = await startReceiver()
  const task = await createTask(app, { user: owner, organization: mine.name, receiver })
  const policy = { collaborator_auth_policy: 'two_factor_mandatory' } as const
  for (const { id } of [mine, theirs]) await updateOrganization(app.db, id, policy)
  const get = (user: TestUser, path: string) => app.request({ url: `/api/v2${path}`, token: user.token })
  const paths = [
    `/organizations/${mine.name}`,
    `/organizations/${mine.name}/workspaces`,
    `/organizations/${mine.name}/projects`,
    `/projects/${mine.default_project_id}`,
    `/tasks/${task}`,
  ]
  const statuses = async (user: TestUser) => Promise.all(paths.map(async (path) => (await get(user, path)).status))

  const before = await statuses(owner)
  const detail = (await get(owner, `/organizations/${mine.name}`)).json().errors[0].detail
  const list = await get(owner, '/organizations')
  const { secret } = (await act(owner, 'enroll', { password: PASSWORD })).json().data.attributes
  await act(owner, 'verify', { otp: totpCode(secret, app.now()) })

  expect(before).toEqual([403, 403, 403, 403, 403])
  expect(detail).toContain('requires two-factor authentication')
  expect(list.status).toBe(200)
  expect(await statuses(owner)).toEqual([200, 200, 200, 200, 200])
  // An outsider does not learn the missing requirement, which would reveal the organization.
  for (const stranger of [elsewhere, await createUser(app, { password: PASSWORD })]) {
    expect(await statuses(stranger)).toEqual([404, 404, 404, 404, 404])
  }
  expect((await get(elsewhere, `/organizations/${theirs.name}`)).status).toBe(200)
})
