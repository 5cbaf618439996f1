import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { createTeam as createTeamIn } from '../../../testing/teams.ts'
import { createOrganizationToken } from './service.ts'

let app: TestApp
let owner: TestUser
let member: TestUser
let outsider: TestUser
let organization: { id: string; name: string }
let teamId: string
let ownersId: string
beforeAll(async () => {
  app = await createTestApp()
  ;[owner, member, outsider] = [await createUser(app), await createUser(app), await createUser(app)]
  organization = await createOrganization(app, owner)
  teamId = await createTeam('builders', [member])
  ownersId = (await app.db.selectFrom('teams').select('id').where('is_owners', '=', true).executeTakeFirstOrThrow()).id
})

type Columns = NonNullable<Parameters<typeof createTeamIn>[2]>['columns']

async function createTeam(name: string, members: TestUser[], columns: Columns = {}) {
  return createTeamIn(app, organization.id, { name, members, columns })
}

const legacy = (id = teamId) => `/api/v2/teams/${id}/authentication-token`
const named = (id = teamId) => `/api/v2/teams/${id}/authentication-tokens`
const post = (url: string, token: string, attributes?: unknown) =>
  app.request({
    method: 'POST',
    url,
    token,
    body: attributes === undefined ? undefined : { data: { type: 'authentication-tokens', attributes } },
  })
const status = async (token: string) => (await app.request({ url: '/api/v2/account/details', token })).status

describe('the token without a name', () => {
  test('acts as the account of its team, and is replaced by a new one', async () => {
    const first = (await post(legacy(), owner.token, { description: 'ignored' })).json().data
    const second = (await post(legacy(), member.token)).json().data

    expect(first.attributes.description).toBeNull()
    expect(second.relationships).toMatchObject({
      team: { data: { id: teamId, type: 'teams' } },
      'created-by': { data: { id: member.id, type: 'users' } },
    })
    expect(await status(first.attributes.token)).toBe(401)
    expect(await status(second.attributes.token)).toBe(200)
    expect((await app.request({ url: legacy(), token: owner.token })).json().data).toMatchObject({
      id: second.id,
      attributes: { token: null },
    })
  })

  test('does not exist after its deletion', async () => {
    const { token } = (await post(legacy(), owner.token)).json().data.attributes

    expect((await app.request({ method: 'DELETE', url: legacy(), token: owner.token })).status).toBe(204)
    expect(await status(token)).toBe(401)
    expect((await app.request({ url: legacy(), token: owner.token })).status).toBe(404)
  })
})

describe('named tokens', () => {
  test('coexist, with unique descriptions', async () => {
    const first = await post(named(), owner.token, { description: 'ci' })
    const second = await post(named(), owner.token, { description: 'nightly' })
    const double = await post(named(), owner.token, { description: 'ci' })
    const empty = await post(named(), owner.token, { description: '' })
    const nameless = await post(named(), owner.token, {})

    expect([first, second, empty].map((response) => response.status)).toEqual([201, 201, 201])
    expect([double.status, nameless.status]).toEqual([422, 422])
    expect(double.json().errors[0].source.pointer).toBe('/data/attributes/description')
    expect(await status(first.json().data.attributes.token)).toBe(200)
    expect(await status(second.json().data.attributes.token)).toBe(200)
  })

  test('are listed for their team', async () => {
    const id = await createTeam('listed', [])
    await post(named(id), owner.token, { description: 'only' })

    const { data, meta } = (await app.request({ url: named(id), token: owner.token })).json()

    expect(data.map((token: any) => [token.attributes.description, token.attributes.token])).toEqual([['only', null]])
    expect(meta.pagination['total-count']).toBe(1)
  })
})

test.each([
  ['without a name', legacy],
  ['with a name', named],
])('a token %s expires after two years by default', async (_, url) => {
  const { attributes } = (await post(url(), owner.token, { description: 'unlimited' })).json().data

  const created = new Date(attributes['created-at'])
  created.setUTCFullYear(created.getUTCFullYear() + 2)
  expect(attributes['expired-at']).toBe(created.toISOString())
})

describe('permission to manage team tokens', () => {
  test('is denied to a member whose team does not allow it', async () => {
    const id = await createTeam('strict', [member], { allow_member_token_management: false })

    expect((await post(legacy(id), member.token)).status).toBe(403)
    expect((await post(legacy(id), owner.token)).status).toBe(201)
  })

  test('is denied to a caller who cannot see the team', async () => {
    const secret = await createTeam('secret', [])

    expect((await post(legacy(), outsider.token)).status).toBe(404)
    expect((await post(legacy(secret), member.token)).status).toBe(404)
    expect((await post(legacy('team-unknown'), member.token)).status).toBe(404)
  })

  test("is granted to managers of teams, except for the owners' team", async () => {
    const manager = await createUser(app)
    await createTeam('managers', [manager], { manage_teams: true })
    const { text } = await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'organization' })
    const visible = await createTeam('visible', [], { visibility: 'organization' })
    const secret = await createTeam('hidden', [])

    for (const token of [manager.token, text]) {
      expect((await post(legacy(visible), token)).status).toBe(201)
    }
    expect((await post(legacy(secret), manager.token)).status).toBe(404)
    expect((await post(legacy(ownersId), manager.token)).status).toBe(404)
    expect((await post(legacy(secret), text)).status).toBe(201)
    expect((await post(legacy(ownersId), text)).status).toBe(403)
  })

  test("is denied to a team's own token, which would outlive its revocation", async () => {
    const { token } = (await post(named(), owner.token, { description: 'sole' })).json().data.attributes

    expect((await post(named(), token, { description: 'twin' })).status).toBe(403)
  })

  test("is denied to the token of a team that manages teams, since another team's token could create it a second one", async () => {
    const columns = { manage_teams: true, manage_organization_access: true, visibility: 'organization' } as const
    const [first, second] = [await createTeam('first', [], columns), await createTeam('second', [], columns)]
    const { token } = (await post(named(first), owner.token, { description: 'sole' })).json().data.attributes

    for (const id of [first, second]) {
      const refused = [await post(named(id), token, { description: 'twin' }), await post(legacy(id), token)]
      expect(refused.map((response) => response.status)).toEqual([403, 403])
    }
    expect((await app.request({ url: named(first), token })).status).toBe(200)
  })

  test('lets the token of the owners create tokens of other teams, but not of the owners or the organization', async () => {
    const { token } = (await post(named(ownersId), owner.token, { description: 'automation' })).json().data.attributes
    const ofOrganization = `/api/v2/organizations/${organization.name}/authentication-token`
    const other = await createTeam('other', [])

    const refused = [
      await post(named(ownersId), token, { description: 'twin' }),
      await post(legacy(ownersId), token),
      await post(ofOrganization, token),
      await post(`${ofOrganization}?token=audit-trails`, token),
    ]

    expect(refused.map((response) => response.status)).toEqual([403, 403, 403, 403])
    expect((await post(named(other), token, { description: 'by owners' })).status).toBe(201)
    expect((await post(legacy(other), token)).status).toBe(201)
    expect((await post(ofOrganization, owner.token)).status).toBe(201)
  })

  test("is denied through a team's service account", async () => {
    const team = await app.db.selectFrom('teams').selectAll().where('id', '=', teamId).executeTakeFirstOrThrow()
    const { token } = (await post(named(), owner.token, { description: 'account' })).json().data.attributes
    const admin = await createUser(app, { isSiteAdmin: true })
    const url = `/api/v2/users/${team.service_user_id}/authentication-tokens`

    expect((await post(url, token, { description: 'twin' })).status).toBe(404)
    expect((await post(url, admin.token, { description: 'twin' })).status).toBe(404)
  })
})

describe("an organization's team tokens", () => {
  const url = () => `/api/v2/organizations/${organization.name}/team-tokens`
  const list = async (token: string, query = '') => (await app.request({ url: `${url()}${query}`, token })).json().data

  test('are those that the caller may manage', async () => {
    await post(legacy(ownersId), owner.token)

    const teams = async (token: string) =>
      new Set((await list(token, '?page[size]=100')).map((row: any) => row.relationships.team.data.id))

    expect((await teams(owner.token)).has(ownersId)).toBe(true)
    expect((await teams(member.token)).has(ownersId)).toBe(false)
    expect((await teams(member.token)).has(teamId)).toBe(true)
    expect((await app.request({ url: url(), token: outsider.token })).status).toBe(404)
  })

  test('are searched, sorted and filtered by their expiry', async () => {
    const id = await createTeam('sorted', [])
    const soon = new Date(app.now().getTime() + 60_000).toISOString()
    await post(named(id), owner.token, { description: 'zeta', 'expired-at': soon })
    await post(named(id), owner.token, { description: 'alpha 100%' })
    app.clock.advance(60_001)
    const names = async (query: string) =>
      (await list(owner.token, query)).map((row: any) => row.attributes.description)

    expect(await names('?q=sorted&sort=description')).toEqual(['alpha 100%', 'zeta'])
    expect(await names('?q=sorted&sort=-description')).toEqual(['zeta', 'alpha 100%'])
    expect(await names('?q=100%25')).toEqual(['alpha 100%'])
    expect(await names('?q=sorted&filter[expiry_status]=expired')).toEqual(['zeta'])
    expect(await names('?q=sorted&filter[expiry_status]=active')).toEqual(['alpha 100%'])
    for (const query of ['?sort=hash', '?filter[expiry_status]=maybe'])
      expect((await app.request({ url: `${url()}${query}`, token: owner.token })).status).toBe(422)
  })

  test('are deleted together, and only those of this organization', async () => {
    const id = await createTeam('ended', [])
    const created = [await post(named(id), owner.token, { description: 'a' }), await post(legacy(id), owner.token)]
    const ids = created.map((response) => ({ type: 'authentication-tokens', id: response.json().data.id }))
    const own = await app.db.selectFrom('tokens').select('id').where('user_id', '=', owner.id).executeTakeFirstOrThrow()
    const remove = (token: string, body: unknown) => app.request({ method: 'DELETE', url: url(), token, body })

    expect((await remove(member.token, { data: ids })).status).toBe(403)
    expect((await remove(owner.token, undefined)).status).toBe(422)
    expect((await remove(owner.token, { data: [...ids, { id: own.id }] })).status).toBe(204)
    expect(await Promise.all(created.map((response) => status(response.json().data.attributes.token)))).toEqual([
      401, 401,
    ])
    expect(await status(owner.token)).toBe(200)
  })
})
