import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { addMember, createTeam, createTeamToken } from '../../../testing/teams.ts'

let app: TestApp
let owner: TestUser
let member: TestUser
let outsider: TestUser
let organization: { id: string; name: string }
let ownersId: string
beforeAll(async () => {
  app = await createTestApp()
  ;[owner, member, outsider] = [await createUser(app), await createUser(app), await createUser(app)]
  organization = await createOrganization(app, owner)
  await addMember(app, organization.id, member)
  ownersId = (await list('?filter[names]=owners')).json().data[0].id
})

const url = () => `/api/v2/organizations/${organization.name}/teams`
const list = (query = '', token = owner.token) => app.request({ url: `${url()}${query}`, token })
const show = (id: string, token = owner.token, query = '') => app.request({ url: `/api/v2/teams/${id}${query}`, token })
const update = (id: string, attributes: Record<string, unknown>, token = owner.token) =>
  app.request({ method: 'PATCH', url: `/api/v2/teams/${id}`, token, body: { data: { type: 'teams', attributes } } })
const remove = (id: string, token = owner.token) => app.request({ method: 'DELETE', url: `/api/v2/teams/${id}`, token })
const users = (method: 'POST' | 'DELETE', id: string, names: string[], token = owner.token) =>
  app.request({
    method,
    url: `/api/v2/teams/${id}/relationships/users`,
    token,
    body: { data: names.map((id) => ({ type: 'users', id })) },
  })

describe('members', () => {
  test("are added and removed by username, and counted without the team's account", async () => {
    const id = await createTeam(app, organization.id)
    await createTeamToken(app, id)

    expect((await users('POST', id, [member.username.toUpperCase(), owner.username])).status).toBe(204)
    expect((await users('POST', id, [member.username])).status).toBe(204)
    expect((await users('DELETE', id, [owner.username])).status).toBe(204)

    const { data, included } = (await show(id, owner.token, '?include=users,organization-memberships')).json()
    expect(data.attributes['users-count']).toBe(1)
    expect(data.relationships.users.data).toEqual([{ id: member.id, type: 'users' }])
    expect(included.map((resource: any) => resource.type).toSorted()).toEqual(['organization-memberships', 'users'])
    expect(included.find((resource: any) => resource.type === 'users').attributes.username).toBe(member.username)
  })

  test('must be members of the organization: others look like unknown users', async () => {
    const id = await createTeam(app, organization.id)

    const stranger = await users('POST', id, [outsider.username])
    const unknown = await users('POST', id, ['nobody'])

    expect([stranger.status, unknown.status]).toEqual([422, 422])
    expect(stranger.text.replaceAll(outsider.username, 'x')).toBe(unknown.text.replaceAll('nobody', 'x'))
  })

  test('have addresses visible only to managers of members', async () => {
    const id = await createTeam(app, organization.id, { members: [owner, member] })
    const path = `/api/v2/teams/${id}/relationships/organization-memberships`
    const emails = async (token: string) =>
      (await app.request({ url: path, token })).json().data.map((row: any) => row.attributes.email)

    expect((await emails(owner.token)).toSorted()).toEqual([member.email, owner.email].toSorted())
    expect(await emails(member.token)).toEqual([null, member.email])
  })
})

describe('the owners team', () => {
  test("can't be deleted, renamed, hidden or restricted", async () => {
    expect((await remove(ownersId)).status).toBe(403)
    expect((await update(ownersId, { name: 'bosses' })).status).toBe(403)
    expect((await update(ownersId, { visibility: 'organization' })).status).toBe(403)
    expect((await update(ownersId, { 'organization-access': { 'manage-teams': false } })).status).toBe(403)
    expect((await update(ownersId, { name: 'owners', 'sso-team-id': 'owners-group' })).status).toBe(200)
  })

  test("can't lose its last member", async () => {
    const last = await users('DELETE', ownersId, [owner.username])
    await users('POST', ownersId, [member.username])
    const replaced = await users('DELETE', ownersId, [owner.username], member.token)
    await users('POST', ownersId, [owner.username], member.token)
    await users('DELETE', ownersId, [member.username])

    expect([last.status, replaced.status]).toEqual([403, 204])
  })

  test('does not count a suspended account', async () => {
    const suspended = await createUser(app)
    await addMember(app, organization.id, suspended)
    await users('POST', ownersId, [suspended.username])
    await app.db.updateTable('users').set({ suspended_at: app.now() }).where('id', '=', suspended.id).execute()

    const last = await users('DELETE', ownersId, [owner.username])
    const other = await users('DELETE', ownersId, [suspended.username])

    expect([last.status, other.status]).toEqual([403, 204])
  })

  test('keeps a member when two owners remove each other concurrently', async () => {
    const [first, second] = [await createUser(app), await createUser(app)]
    const own = await createOrganization(app, first)
    await addMember(app, own.id, second)
    const teams = await app.request({ url: `/api/v2/organizations/${own.name}/teams`, token: first.token })
    const { id } = teams.json().data[0]
    await users('POST', id, [second.username], first.token)

    await Promise.all([
      users('DELETE', id, [second.username], first.token),
      users('DELETE', id, [first.username], second.token),
    ])

    const { total } = await app.db
      .selectFrom('team_members')
      .innerJoin('users', 'users.id', 'user_id')
      .select((eb) => eb.fn.countAll<number>().as('total'))
      .where('team_id', '=', id)
      .where('is_service_account', '=', false)
      .executeTakeFirstOrThrow()
    expect(total).toBe(1)
  })

  test("can't be changed by managers of teams", async () => {
    const manager = await createUser(app)
    await createTeam(app, organization.id, { members: [manager], columns: { manage_organization_access: true } })
    await app.db.updateTable('teams').set({ visibility: 'organization' }).where('id', '=', ownersId).execute()

    expect((await users('POST', ownersId, [manager.username], manager.token)).status).toBe(403)
    expect((await update(ownersId, { 'sso-team-id': 'mine' }, manager.token)).status).toBe(403)
  })
})
