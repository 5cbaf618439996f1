import { beforeAll, describe, expect, test } from 'vitest'
import { transact } from '../../../db/db.ts'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'
import { addMember, createTeam } from '../../../testing/teams.ts'
import { createOrganizationToken } from '../authentication-tokens/service.ts'
import { acceptInvitations } from './service.ts'

let app: TestApp
let owner: TestUser
let organization: { id: string; name: string }
beforeAll(async () => {
  app = await createTestApp()
  owner = await createUser(app)
  organization = await createOrganization(app, owner)
})

const url = () => `/api/v2/organizations/${organization.name}/organization-memberships`
const list = (query = '', token = owner.token) => app.request({ url: `${url()}${query}`, token })
const show = (id: string, token = owner.token, query = '') =>
  app.request({ url: `/api/v2/organization-memberships/${id}${query}`, token })
const invite = (email: string, { teams = [], token = owner.token }: { teams?: string[]; token?: string } = {}) =>
  app.request({
    method: 'POST',
    url: url(),
    token,
    body: {
      data: {
        type: 'organization-memberships',
        attributes: { email },
        relationships: { teams: { data: teams.map((id) => ({ type: 'teams', id })) } },
      },
    },
  })
const remove = (id: string, token = owner.token) =>
  app.request({ method: 'DELETE', url: `/api/v2/organization-memberships/${id}`, token })
const own = (token: string, query = '') => app.request({ url: `/api/v2/organization-memberships${query}`, token })
const ownId = async (user: TestUser) =>
  (await own(user.token)).json().data.find((row: any) => row.relationships.organization.data.id === organization.name)
    ?.id

describe('an invitation', () => {
  test('of a user with an account creates a membership immediately', async () => {
    const user = await createUser(app)
    const team = await createTeam(app, organization.id)

    const response = await invite(user.email.toUpperCase(), { teams: [team] })

    expect(response.status).toBe(201)
    const { data, included } = response.json()
    expect(data).toMatchObject({
      attributes: { status: 'active', email: user.email },
      relationships: {
        user: { data: { id: user.id, type: 'users' } },
        teams: { data: [{ id: team, type: 'teams' }] },
        organization: { data: { id: organization.name } },
      },
    })
    expect(included).toMatchObject([{ id: user.id, type: 'users' }])
    expect((await app.request({ url: `/api/v2/teams/${team}`, token: user.token })).status).toBe(200)
  })

  test('of an unknown address waits, and becomes a membership with its teams once there is an account', async () => {
    const [first, second] = [await createTeam(app, organization.id), await createTeam(app, organization.id)]
    const invited = (await invite('later@example.com', { teams: [first] })).json()
    await app.request({
      method: 'POST',
      url: `/api/v2/teams/${second}/relationships/organization-memberships`,
      token: owner.token,
      body: { data: [{ type: 'organization-memberships', id: invited.data.id }] },
    })
    const before = (await show(invited.data.id)).json().data
    const user = await createUser(app, { email: 'Later@example.com' })

    await transact(app.as(), (ctx) => acceptInvitations(ctx, user.id))

    expect(invited.included).toMatchObject([
      { type: 'users', attributes: { username: null } },
      { type: 'invitations', id: invited.data.id },
    ])
    expect(before).toMatchObject({
      attributes: { status: 'invited', email: 'later@example.com' },
      relationships: { user: { data: { type: 'users' } } },
    })
    const after = (await show(invited.data.id)).json().data
    expect(after.attributes.status).toBe('active')
    expect(after.relationships.user.data.id).toBe(user.id)
    expect(after.relationships.teams.data.map((team: any) => team.id).toSorted()).toEqual([first, second].toSorted())
    expect((await app.request({ url: `/api/v2/teams/${second}`, token: user.token })).status).toBe(200)
  })

  test("shows its address in the included user to callers who may see the membership's", async () => {
    const invited = (await invite('shown@example.com')).json()
    const member = await createUser(app)
    const joined = (await invite(member.email)).json()
    const included = async (id: string, token = owner.token) =>
      (await app.request({ url: `/api/v2/organization-memberships/${id}?include=user`, token })).json().included

    const users = [invited.included[0], ...joined.included]
    const shown = [...(await included(invited.data.id)), ...(await included(joined.data.id, member.token))]
    const listed = await app.request({ url: `${url()}?include=user&q=shown@`, token: owner.token })
    const account = await app.request({ url: `/api/v2/users/${member.id}`, token: owner.token })

    const emails = (resources: any[]) => resources.map(({ attributes }) => attributes.email)
    expect(emails(users)).toEqual(['shown@example.com', member.email])
    expect(emails(shown)).toEqual(['shown@example.com', member.email])
    expect(emails(listed.json().included)).toEqual(['shown@example.com'])
    expect(account.json().data.attributes).not.toHaveProperty('email')
  })

  test('ignores accounts that only claim the address', async () => {
    const squatter = await createUser(app, { password: 'a good password' })
    const admin = await createUser(app, { isSiteAdmin: true })
    const claim = { data: { type: 'users', attributes: { email: 'wanted@example.com' } } }
    await app.request({ method: 'PATCH', url: '/api/v2/account/update', token: squatter.token, body: claim })

    const invited = (await invite('wanted@example.com')).json().data
    const before = (await own(squatter.token)).json().data
    await app.request({ method: 'PATCH', url: `/api/v2/admin/users/${squatter.id}`, token: admin.token, body: claim })

    expect(invited.attributes.status).toBe('invited')
    expect(before).toEqual([])
    expect((await own(squatter.token)).json().data).toMatchObject([{ id: invited.id }])
  })

  test('is unique for an address, which must be valid', async () => {
    await invite('once@example.com')

    expect((await invite('Once@example.com')).json().errors[0].detail).toBe('Email has already been taken')
    expect((await invite(owner.email)).status).toBe(422)
    expect((await invite('not-an-address')).status).toBe(422)
  })

  test('rejects an invisible team like an unknown one', async () => {
    const manager = await createUser(app)
    await createTeam(app, organization.id, { members: [manager], columns: { manage_membership: true } })
    const secret = await createTeam(app, organization.id)
    const unknown = 'team-1111111111111111'

    const [seen, none] = [
      await invite('a@example.com', { teams: [secret], token: manager.token }),
      await invite('a@example.com', { teams: [unknown], token: manager.token }),
    ]

    expect([seen.status, none.status]).toEqual([422, 422])
    expect(seen.text.replaceAll(secret, 'x')).toBe(none.text.replaceAll(unknown, 'x'))
  })
})

describe('the list', () => {
  test('is filtered by status and address, searched, and counted by status', async () => {
    const user = await createUser(app, { username: 'searched', email: 'found@example.com' })
    await addMember(app, organization.id, user)
    await invite('waiting@example.com')
    const emails = async (query: string) => (await list(query)).json().data.map((row: any) => row.attributes.email)

    expect(await emails('?q=SEARCH')).toEqual(['found@example.com'])
    expect(await emails('?q=waiting@')).toEqual(['waiting@example.com'])
    expect(await emails('?filter[email]=FOUND@example.com,waiting@example.com&filter[status]=active')).toEqual([
      'found@example.com',
    ])
    expect((await list('?filter[status]=gone')).status).toBe(422)
    const { meta } = (await list()).json()
    expect(meta['status-counts'].total).toBe(meta.pagination['total-count'])
    expect(meta['status-counts'].active + meta['status-counts'].invited).toBe(meta['status-counts'].total)
  })

  test('is visible to managers of members, and users see their own', async () => {
    const [user, stranger] = [await createUser(app), await createUser(app)]
    await addMember(app, organization.id, user)
    const id = await ownId(user)

    expect((await list('', user.token)).status).toBe(404)
    expect((await list('', stranger.token)).status).toBe(404)
    expect((await show(id, user.token, '?include=user,teams')).status).toBe(200)
    expect((await show(id, stranger.token)).status).toBe(404)
    expect((await show(await ownId(owner), user.token)).status).toBe(404)
    expect((await own(user.token, '?include=organization')).json().included).toMatchObject([{ id: organization.name }])
    expect((await own(stranger.token)).json().data).toEqual([])
  })
})

describe('the end of a membership', () => {
  test('revokes all access to the organization', async () => {
    const user = await createUser(app)
    const team = await createTeam(app, organization.id, { members: [user] })
    const id = await ownId(user)

    expect((await remove(id)).status).toBe(204)

    expect((await app.request({ url: `/api/v2/organizations/${organization.name}`, token: user.token })).status).toBe(
      404,
    )
    expect((await app.request({ url: `/api/v2/teams/${team}`, token: user.token })).status).toBe(404)
    expect((await show(id)).status).toBe(404)
  })

  test('is possible for all members except owners', async () => {
    const user = await createUser(app)
    await addMember(app, organization.id, user)

    expect((await remove(await ownId(user), user.token)).status).toBe(204)
    expect((await remove(await ownId(owner), owner.token)).status).toBe(403)
  })

  test('never leaves the organization without an owner; only owners remove owners', async () => {
    const manager = await createUser(app)
    await createTeam(app, organization.id, {
      members: [manager],
      columns: { manage_membership: true, access_secret_teams: true },
    })
    const { text } = await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'organization' })
    const id = await ownId(owner)

    expect((await remove(id, manager.token)).status).toBe(403)
    expect((await remove(id, text)).json().errors[0].detail).toBe('only owners may remove an owner')
    expect((await show(id)).status).toBe(200)
  })

  test('requires a caller who sees all teams of the member', async () => {
    const [manager, hidden] = [await createUser(app), await createUser(app)]
    await createTeam(app, organization.id, { members: [manager], columns: { manage_membership: true } })
    await createTeam(app, organization.id, { members: [hidden] })
    const id = await ownId(hidden)

    expect((await show(id, manager.token)).json().data.relationships.teams.data).toEqual([])
    expect((await remove(id, manager.token)).status).toBe(403)
    expect((await remove(id)).status).toBe(204)
  })
})
