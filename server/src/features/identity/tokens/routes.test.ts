import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { createLegacyTeamToken } from '../../organizations/authentication-tokens/service.ts'
import { createCliToken } from './service.ts'

let app: TestApp
let ada: TestUser
beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app)
})

const url = (user: TestUser) => `/api/v2/users/${user.id}/authentication-tokens`
const create = (user: TestUser, token: string, attributes?: unknown) =>
  app.request({
    method: 'POST',
    url: url(user),
    token,
    body: attributes === undefined ? undefined : { data: { type: 'authentication-tokens', attributes } },
  })
const works = async (token: string) => (await app.request({ url: '/api/v2/account/details', token })).status === 200

test('the secret is shown once, and works immediately', async () => {
  const response = await create(ada, ada.token, { description: 'laptop' })

  expect(response.status).toBe(201)
  const { id, type, attributes, relationships } = response.json().data
  expect({ id, type }).toEqual({ id: expect.stringMatching(/^at-/), type: 'authentication-tokens' })
  expect(attributes).toMatchObject({ description: 'laptop', 'last-used-at': null })
  expect(relationships['created-by'].data).toEqual({ id: ada.id, type: 'users' })
  expect(await works(attributes.token)).toBe(true)
  const listed = (await app.request({ url: url(ada), token: ada.token })).json()
  const mine = listed.data.find((token: any) => token.id === id)
  expect(mine.attributes.token).toBeNull()
  expect(mine.attributes['last-used-at']).not.toBeNull()
  expect(JSON.stringify(listed)).not.toContain(attributes.token)
})

test('a list includes who created the tokens', async () => {
  const admin = await createUser(app, { isSiteAdmin: true })
  const user = await createUser(app)
  await create(user, admin.token, { description: 'by the administrator' })

  const { included } = (await app.request({ url: `${url(user)}?include=created_by`, token: user.token })).json()

  expect(included.map((resource: any) => resource.attributes.username)).toContain(admin.username)
})

test.each([
  ['no body', undefined],
  ['an empty type, as a client sends it', { data: { type: '', attributes: { description: 'x' } } }],
  ['no attributes', { data: { type: 'authentication-tokens' } }],
])('%s is enough', async (_, body) => {
  expect((await app.request({ method: 'POST', url: url(ada), token: ada.token, body })).status).toBe(201)
})

test.each([
  ['another type', { data: { type: 'users' } }],
  ['a description that is not a string', { data: { attributes: { description: 1 } } }],
  ['an expiry that is not a time', { data: { attributes: { 'expired-at': 'tomorrow' } } }],
  ['an expiry in the past', { data: { attributes: { 'expired-at': '2001-01-01T00:00:00Z' } } }],
  ['a list', { data: [] }],
])('%s is rejected', async (_, body) => {
  expect((await app.request({ method: 'POST', url: url(ada), token: ada.token, body })).status).toBe(422)
})

test('a token expires', async () => {
  const expiry = new Date(app.now().getTime() + 60_000).toISOString()
  const { token } = (await create(ada, ada.token, { 'expired-at': expiry })).json().data.attributes

  expect(await works(token)).toBe(true)
  app.clock.advance(60_001)
  expect(await works(token)).toBe(false)
})

describe('a token without an expiry', () => {
  /** The times of a new token, in the zone UTC. */
  async function times(subject: TestApp, attributes: object) {
    const user = await createUser(subject)
    const body = { data: { type: 'authentication-tokens', attributes } }
    const response = await subject.request({ method: 'POST', url: url(user), token: user.token, body })
    const { 'created-at': created, 'expired-at': expired } = response.json().data.attributes
    return { created: new Date(created), expired: expired === null ? null : new Date(expired) }
  }

  test.each([[{}], [{ 'expired-at': null }]])('expires after two years: %j', async (attributes) => {
    const { created, expired } = await times(app, attributes)

    created.setUTCFullYear(created.getUTCFullYear() + 2)
    expect(expired).toEqual(created)
  })

  test('expires after the time that the site sets', async () => {
    const { created, expired } = await times(await createTestApp({ GROUNDSTATE_DEFAULT_TOKEN_TTL: '90d' }), {})

    expect(Number(expired) - Number(created)).toBe(90 * 86_400_000)
  })

  test('never expires where the site sets no time', async () => {
    const { expired } = await times(await createTestApp({ GROUNDSTATE_DEFAULT_TOKEN_TTL: 'never' }), {})

    expect(expired).toBeNull()
  })
})

test.each(['0d', '2', '100y', '2 years', '-1d'])('a site cannot set the time %s', async (text) => {
  await expect(createTestApp({ GROUNDSTATE_DEFAULT_TOKEN_TTL: text })).rejects.toThrow('such as 90d or 2y, or never')
})

test('tokens of other users do not exist, except for site administrators, who are recorded as their creators', async () => {
  const admin = await createUser(app, { isSiteAdmin: true })
  const eve = await createUser(app)

  const byEve = await create(ada, eve.token, { description: 'mine now' })
  const byAdmin = await create(ada, admin.token, { description: 'for a script' })

  expect(byEve.status).toBe(404)
  expect((await app.request({ url: url(ada), token: eve.token })).status).toBe(404)
  expect(byAdmin.status).toBe(201)
  expect(byAdmin.json().data.relationships['created-by'].data.id).toBe(admin.id)
  const whose = await app.request({ url: '/api/v2/account/details', token: byAdmin.json().data.attributes.token })
  expect(whose.json().data.id).toBe(ada.id)
})

test("a team's token cannot create user tokens", async () => {
  const { id } = await createOrganization(app, ada)
  const team = await app.db
    .selectFrom('teams')
    .select(['id', 'service_user_id'])
    .where('organization_id', '=', id)
    .executeTakeFirstOrThrow()
  const { text } = await createLegacyTeamToken(app.as(ada.actor), team.id, {})

  const forItself = await app.request({
    method: 'POST',
    url: `/api/v2/users/${team.service_user_id}/authentication-tokens`,
    token: text,
  })

  expect(forItself.status).toBe(404)
  expect((await create(ada, text)).status).toBe(404)
})

test('the list has pages, the newest token first', async () => {
  const user = await createUser(app)
  for (const description of ['second', 'third']) {
    app.clock.advance(1000)
    await create(user, user.token, { description })
  }

  const response = await app.request({ url: `${url(user)}?page[size]=2`, token: user.token })

  expect(response.json().data.map((token: any) => token.attributes.description)).toEqual(['third', 'second'])
  expect(response.json().meta.pagination).toMatchObject({ 'total-count': 3, 'total-pages': 2, 'next-page': 2 })
})

test('the CLI creates a token directly in the database', async () => {
  const text = await createCliToken(app.db, {
    username: ada.username.toUpperCase(),
    description: 'way back in',
    expiresAt: undefined,
  })

  expect(await works(text)).toBe(true)
  await expect(createCliToken(app.db, { username: 'nobody', description: '', expiresAt: undefined })).rejects.toThrow(
    'there is no account',
  )
})
