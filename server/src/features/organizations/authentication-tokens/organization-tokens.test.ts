import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'

let app: TestApp
let owner: TestUser
let name: string
let url: string
beforeAll(async () => {
  app = await createTestApp()
  owner = await createUser(app)
  name = (await createOrganization(app, owner)).name
  url = `/api/v2/organizations/${name}/authentication-token`
})

const post = (token: string, query = '', body?: unknown) =>
  app.request({ method: 'POST', url: `${url}${query}`, token, body })
/** 404 for a valid organization token, 401 for a revoked one. */
const status = async (token: string) => (await app.request({ url: '/api/v2/account/details', token })).status

describe.each([
  ['the token of an organization', ''],
  ['its token for the audit trail', '?token=audit-trails'],
])('%s', (_, query) => {
  test('is replaced by a new one', async () => {
    const first = await post(owner.token, query)
    const second = await post(owner.token, query)

    expect([first.status, second.status]).toEqual([201, 201])
    expect(await status(first.json().data.attributes.token)).toBe(401)
    expect(await status(second.json().data.attributes.token)).toBe(404)
    const shown = await app.request({ url: `${url}${query}`, token: owner.token })
    expect(shown.json().data).toMatchObject({
      id: second.json().data.id,
      attributes: { token: null },
      relationships: { 'created-by': { data: { id: owner.id, type: 'users' } } },
    })
  })

  test('expires after two years by default', async () => {
    const { attributes } = (await post(owner.token, query)).json().data

    const created = new Date(attributes['created-at'])
    created.setUTCFullYear(created.getUTCFullYear() + 2)
    expect(attributes['expired-at']).toBe(created.toISOString())
  })

  test('stays single after concurrent requests', async () => {
    const responses = await Promise.all([post(owner.token, query), post(owner.token, query)])

    expect(responses.map((response) => response.status)).toEqual([201, 201])
    const statuses = await Promise.all(responses.map((response) => status(response.json().data.attributes.token)))
    expect(statuses.toSorted((a, b) => a - b)).toEqual([401, 404])
  })

  test('does not exist after its deletion', async () => {
    const { token } = (await post(owner.token, query)).json().data.attributes

    const remove = () => app.request({ method: 'DELETE', url: `${url}${query}`, token: owner.token })

    expect((await remove()).status).toBe(204)
    expect(await status(token)).toBe(401)
    expect((await remove()).status).toBe(404)
    expect((await app.request({ url: `${url}${query}`, token: owner.token })).status).toBe(404)
  })
})

test('the two kinds are independent', async () => {
  const plain = await post(owner.token)
  const audit = await post(owner.token, '?token=audit-trails')

  expect(await status(plain.json().data.attributes.token)).toBe(404)
  expect(await status(audit.json().data.attributes.token)).toBe(404)
})

test('an expiry is stored, an unknown kind is rejected', async () => {
  const expiry = new Date(app.now().getTime() + 60_000).toISOString()
  const body = { data: { type: 'authentication-tokens', attributes: { 'expired-at': expiry } } }

  const { attributes } = (await post(owner.token, '', body)).json().data
  const unknown = await post(owner.token, '?token=other')

  expect(attributes['expired-at']).toBe(expiry)
  expect(unknown.status).toBe(422)
  expect(unknown.json().errors[0].source.parameter).toBe('token')
})

test('outsiders see no organization, and its own token cannot create another', async () => {
  const stranger = await createUser(app)
  const { token } = (await post(owner.token)).json().data.attributes

  expect((await post(stranger.token)).status).toBe(404)
  expect((await post(token)).status).toBe(403)
  expect((await app.request({ method: 'POST', url })).status).toBe(401)
})

test.each(['__proto__', 'constructor', 'user'])('there is no token of the kind %s', async (kind) => {
  const response = await app.request({ url: `${url}?token=${kind}`, token: owner.token })

  expect(response.status).toBe(422)
  expect(response.json().errors[0]).toMatchObject({ source: { parameter: 'token' } })
})
