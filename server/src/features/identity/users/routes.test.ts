import { beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { addMember, createTeam } from '../../../testing/teams.ts'
import { createOrganizationToken } from '../../organizations/authentication-tokens/service.ts'
import { includedUsers } from './service.ts'

let app: TestApp
let ada: TestUser
beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app, { username: 'ada', password: 'a good password' })
})

const show = (id: string, token?: string) => app.request({ url: `/api/v2/users/${id}`, token })

test('a user is shown with a name and a picture, and no other personal data', async () => {
  const response = await show(ada.id, ada.token)

  expect(response.status).toBe(200)
  expect(response.json()).toEqual({
    data: {
      id: ada.id,
      type: 'users',
      attributes: {
        username: 'ada',
        'is-service-account': false,
        'auth-method': 'password',
        'avatar-url': `http://groundstate.test/avatars/${ada.id}.svg`,
        'v2-only': false,
        permissions: {
          'can-create-organizations': true,
          'can-change-email': true,
          'can-change-username': true,
        },
      },
      relationships: {
        'authentication-tokens': { links: { related: `/api/v2/users/${ada.id}/authentication-tokens` } },
      },
      links: { self: `/api/v2/users/${ada.id}` },
    },
  })
})

test('the permissions of a user depend on the caller', async () => {
  const organization = await createOrganization(app, ada)
  const { text } = await createOrganizationToken(app.as(ada.actor), organization.name, { kind: 'organization' })
  const grace = await createUser(app, { password: 'a good password' })
  await addMember(app, organization.id, grace)
  const admin = await createUser(app, { isSiteAdmin: true })
  const team = await createTeam(app, organization.id, { members: [ada] })
  const byUrl = async (url: string, token: string) => (await app.request({ url, token })).json()
  const permissions = async (token: string) =>
    Object.values((await byUrl(`/api/v2/users/${ada.id}`, token)).data.attributes.permissions)

  const included = await byUrl(`/api/v2/teams/${team}?include=users`, text)
  const memberships = await byUrl(`/api/v2/organization-memberships?include=user`, ada.token)

  expect(await permissions(ada.token)).toEqual([true, true, true])
  expect(await permissions(grace.token)).toEqual([false, false, false])
  expect(await permissions(text)).toEqual([false, false, false])
  // An administrator changes the account, but cannot create organizations in its name.
  expect(await permissions(admin.token)).toEqual([false, true, true])
  const seen = included.included.find((user: any) => user.id === ada.id)
  expect(Object.values(seen.attributes.permissions)).toEqual([false, false, false])
  expect(Object.values(memberships.included[0].attributes.permissions)).toEqual([true, true, true])
})

test('without a valid token no user is shown', async () => {
  expect((await show(ada.id)).status).toBe(401)
  expect((await show(ada.id, 'nonsense')).status).toBe(401)
})

describe('visibility', () => {
  test('an invisible user and an unknown id have the same response', async () => {
    const stranger = await createUser(app)

    const seen = await show(ada.id, stranger.token)
    const unknown = await show('user-unknown', stranger.token)

    expect([seen.status, unknown.status]).toEqual([404, 404])
    expect(seen.json()).toEqual(unknown.json())
  })

  test('a site administrator sees all users', async () => {
    const admin = await createUser(app, { isSiteAdmin: true })

    expect((await show(ada.id, admin.token)).status).toBe(200)
  })

  test("an organization's token sees only its members and the accounts of its teams", async () => {
    const organization = await createOrganization(app, ada)
    const { text } = await createOrganizationToken(app.as(ada.actor), organization.name, { kind: 'organization' })
    const stranger = await createUser(app)
    const team = await app.db
      .selectFrom('teams')
      .select('service_user_id')
      .where('organization_id', '=', organization.id)
      .executeTakeFirstOrThrow()

    expect((await show(ada.id, text)).status).toBe(200)
    expect((await show(team.service_user_id, text)).json().data.attributes['is-service-account']).toBe(true)
    expect((await show(stranger.id, text)).status).toBe(404)
    expect((await show(team.service_user_id, ada.token)).status).toBe(200)
    expect((await show(team.service_user_id, stranger.token)).status).toBe(404)
  })
})

test("the account that a run's states are created by is shown to every caller with a token", async () => {
  const response = await show('user-GroundstateRuns1', ada.token)

  expect(response.status).toBe(200)
  expect(response.json().data.attributes).toMatchObject({ username: 'groundstate-runs', 'is-service-account': true })
  expect((await show('user-GroundstateRuns1')).status).toBe(401)
})

test('included users are loaded in one query, without duplicates and deleted users', async () => {
  const grace = await createUser(app)

  const users = await includedUsers(app.as(ada.actor), [ada.id, null, grace.id, ada.id, 'user-gone'])

  expect(users.map((user) => user.id).toSorted()).toEqual([ada.id, grace.id].toSorted())
})
