import { expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { ensureAdmin } from './users.ts'

const FIXED = 'a-fixed-token-of-the-first-admin'

test('two concurrent starts create one administrator, whose token and password work', async () => {
  const app = await createTestApp()

  const results = await Promise.all([ensureAdmin(app), ensureAdmin(app)])

  const made = results.find((result) => result.created)
  expect(results.filter((result) => result.created)).toHaveLength(1)
  const details = await app.request({ url: '/api/v2/account/details', token: made?.token })
  expect(details.status).toBe(200)
  expect(details.json().data.attributes).toMatchObject({
    username: 'admin',
    email: 'admin@localhost.localdomain',
    'is-site-admin': true,
  })
  const session = await app.request({
    method: 'POST',
    url: '/api/v2/sessions',
    body: { username: 'admin', password: made?.password },
  })
  expect(session.status).toBe(201)
})

test('a fixed token is used and not printed', async () => {
  const app = await createTestApp({ GROUNDSTATE_ADMIN_TOKEN: FIXED })

  const first = await ensureAdmin(app)
  const again = await ensureAdmin(app)

  expect(first.created).toBe(true)
  expect(first.token).toBeUndefined()
  expect(again).toEqual({ created: false })
  expect(await statusWith(app, FIXED)).toBe(200)
})

test('the first administrator has the address of the setting, in the account and among the members', async () => {
  const app = await createTestApp({ GROUNDSTATE_ADMIN_EMAIL: 'ops@example.com' })

  const { token } = await ensureAdmin(app)

  const details = await app.request({ url: '/api/v2/account/details', token })
  const members = await app.request({ url: '/api/v2/organizations/main/organization-memberships', token })
  const organization = await app.request({ url: '/api/v2/organizations/main', token })
  expect([details, organization].map((response) => response.json().data.attributes.email)).toEqual([
    'ops@example.com',
    'ops@example.com',
  ])
  expect(members.json().data.map((member: any) => member.attributes.email)).toEqual(['ops@example.com'])
})

test('an administrator of an earlier version gets the address at the next start, and one with an address keeps it', async () => {
  const app = await createTestApp({ GROUNDSTATE_ADMIN_TOKEN: FIXED })
  await ensureAdmin(app)
  await app.db.updateTable('users').set({ email: null }).where('username', '=', 'admin').execute()
  const start = async (adminEmail: string) => {
    await ensureAdmin({ ...app, config: { ...app.config, adminEmail } })
    const details = await app.request({ url: '/api/v2/account/details', token: FIXED })
    return details.json().data.attributes.email
  }

  expect(await start('ops@example.com')).toBe('ops@example.com')
  expect(await start('other@example.com')).toBe('ops@example.com')
})

test('an address of another user is not reused', async () => {
  const app = await createTestApp({ GROUNDSTATE_ADMIN_EMAIL: 'ada@example.com' })
  await createUser(app, { email: 'Ada@example.com' })

  const { token } = await ensureAdmin(app)
  const again = await ensureAdmin(app)

  const details = await app.request({ url: '/api/v2/account/details', token })
  expect([details.json().data.attributes.email, again.created]).toEqual([null, false])
})

test('a changed fixed token revokes the previous one, and no other token', async () => {
  const app = await createTestApp({ GROUNDSTATE_ADMIN_TOKEN: FIXED })
  await ensureAdmin(app)
  const own = await app.request({
    method: 'POST',
    url: `/api/v2/users/${await adminId(app)}/authentication-tokens`,
    token: FIXED,
    body: { data: { type: 'authentication-tokens', attributes: { description: 'ADMIN_TOKEN' } } },
  })

  await ensureAdmin({ ...app, config: { ...app.config, adminToken: `${FIXED}-2` } })

  expect(await statusWith(app, FIXED)).toBe(401)
  expect(await statusWith(app, `${FIXED}-2`)).toBe(200)
  expect(await statusWith(app, own.json().data.attributes.token)).toBe(200)
})

test('the generated token is revoked too after having been the fixed one', async () => {
  const app = await createTestApp()
  const { token = '' } = await ensureAdmin(app)
  const start = async (adminToken: string) => ensureAdmin({ ...app, config: { ...app.config, adminToken } })

  await start(token)
  expect(await statusWith(app, token)).toBe(200)
  await start(FIXED)

  expect(await statusWith(app, token)).toBe(401)
  expect(await statusWith(app, FIXED)).toBe(200)
})

test('the setting does not take over a token of another user', async () => {
  const app = await createTestApp()
  await ensureAdmin(app)
  const other = await createUser(app)
  const start = async (adminToken: string) => ensureAdmin({ ...app, config: { ...app.config, adminToken } })

  await start(other.token)
  await start(FIXED)

  expect(await statusWith(app, other.token)).toBe(200)
})

test('a start without a fixed token keeps the previous one', async () => {
  const app = await createTestApp({ GROUNDSTATE_ADMIN_TOKEN: FIXED })
  await ensureAdmin(app)

  await ensureAdmin({ ...app, config: { ...app.config, adminToken: undefined } })

  expect(await statusWith(app, FIXED)).toBe(200)
})

async function statusWith(app: TestApp, token: string) {
  return (await app.request({ url: '/api/v2/account/details', token })).status
}

async function adminId(app: TestApp): Promise<string> {
  return (await app.request({ url: '/api/v2/account/details', token: FIXED })).json().data.id
}

test('requests during the creation of the administrator get their responses afterwards', async () => {
  const opened = Promise.withResolvers<void>()
  const app = await createTestApp({ GROUNDSTATE_ADMIN_TOKEN: FIXED }, { opened: opened.promise })
  const url = await app.listen()

  const early = fetch(`${url}/api/v2/account/details`, { headers: { authorization: `Bearer ${FIXED}` } })
  await ensureAdmin(app)
  opened.resolve()

  expect((await early).status).toBe(200)
})
