import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { addMember, createTeam, createTeamToken } from '../../../testing/teams.ts'
import { createOrganizationToken } from '../organization-tokens/manage.ts'

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
const create = (attributes: Record<string, unknown>, token = owner.token) =>
  app.request({ method: 'POST', url: url(), token, body: { data: { type: 'teams', attributes } } })
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

describe('a team', () => {
  test('is created with its access and shown with what the caller may do', async () => {
    const response = await create({
      name: 'platform',
      visibility: 'organization',
      'sso-team-id': 'group-1',
      'organization-access': { 'manage-workspaces': true },
    })

    expect(response.status).toBe(201)
    const { data } = response.json()
    expect(data).toMatchObject({
      type: 'teams',
      attributes: {
        name: 'platform',
        visibility: 'organization',
        'sso-team-id': 'group-1',
        'users-count': 0,
        'allow-member-token-management': true,
        'organization-access': { 'manage-workspaces': true, 'manage-projects': false, 'read-workspaces': false },
        permissions: { 'can-destroy': true, 'can-update-membership': true, 'can-update-organization-access': true },
      },
      relationships: {
        organization: { data: { id: organization.name } },
        users: { data: [] },
        'organization-memberships': { data: [] },
      },
    })
    expect((await show(data.id)).json().data).toEqual(data)
    expect((await show(data.id, member.token)).json().data.attributes.permissions).toMatchObject({
      'can-destroy': false,
      'can-update-membership': false,
    })
  })

  test('has a name of its own within its organization, fit for URLs', async () => {
    await create({ name: 'taken' })

    const double = await create({ name: 'Taken' })
    expect([double.status, double.json().errors[0].detail]).toEqual([422, 'Name has already been taken'])
    expect((await create({ name: 'not a name' })).status).toBe(422)
    expect((await create({})).status).toBe(422)
  })

  test('that manages projects manages workspaces too, and is told so when asked for less', async () => {
    const { data } = (await create({ name: 'projects', 'organization-access': { 'manage-projects': true } })).json()

    const refused = await update(data.id, { 'organization-access': { 'manage-workspaces': false } })

    expect(data.attributes['organization-access']['manage-workspaces']).toBe(true)
    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/organization-access/manage-workspaces')
  })

  test('changes only in what is named', async () => {
    const { data } = (
      await create({ name: 'changing', 'organization-access': { 'manage-run-tasks': true }, 'sso-team-id': 'g' })
    ).json()

    const changed = await update(data.id, { name: 'changed', 'organization-access': { 'manage-teams': true } })

    expect(changed.json().data.attributes).toMatchObject({
      name: 'changed',
      'sso-team-id': 'g',
      'organization-access': { 'manage-run-tasks': true, 'manage-teams': true },
    })
  })

  test('has a description, which can be changed and taken away', async () => {
    const created = (await create({ name: 'described', description: 'looks after the network' })).json().data
    const renamed = await update(created.id, { name: 'described-2' })
    const cleared = await update(created.id, { description: null })

    expect(created.attributes.description).toBe('looks after the network')
    expect(renamed.json().data.attributes.description).toBe('looks after the network')
    expect(cleared.json().data.attributes.description).toBeNull()
  })

  test('takes its tokens along when it is deleted', async () => {
    const id = await createTeam(app, organization.id)
    const token = await createTeamToken(app, id)

    expect((await remove(id)).status).toBe(204)

    expect((await show(id)).status).toBe(404)
    expect((await app.request({ url: '/api/v2/account/details', token })).status).toBe(401)
  })
})

describe('the list', () => {
  test('is filtered by names and searched', async () => {
    await create({ name: 'alpha' })
    await create({ name: 'alpha-2' })
    const names = async (query: string) => (await list(query)).json().data.map((team: any) => team.attributes.name)

    expect(await names('?filter[names]=alpha,owners')).toEqual(['alpha', 'owners'])
    expect(await names('?q=ALPHA')).toEqual(['alpha', 'alpha-2'])
    expect(await names('?q=100%25')).toEqual([])
    expect((await list('?include=nonsense')).status).toBe(400)
  })

  test('holds the visible teams and the own ones', async () => {
    await createTeam(app, organization.id, { name: 'hidden' })
    await createTeam(app, organization.id, { name: 'mine', members: [member] })
    await createTeam(app, organization.id, { name: 'open', columns: { visibility: 'organization' } })

    const seen = (await list('?page[size]=100&filter[names]=hidden,mine,open', member.token)).json()

    expect(seen.data.map((team: any) => team.attributes.name)).toEqual(['mine', 'open'])
    expect(seen.meta.pagination['total-count']).toBe(2)
    expect((await list('', outsider.token)).status).toBe(404)
  })
})

describe('members', () => {
  test('come and go by their names, and are counted without the account of the team', async () => {
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

  test('must be members of the organization: others are not told from nobody', async () => {
    const id = await createTeam(app, organization.id)

    const stranger = await users('POST', id, [outsider.username])
    const nobody = await users('POST', id, ['nobody'])

    expect([stranger.status, nobody.status]).toEqual([422, 422])
    expect(stranger.text.replaceAll(outsider.username, 'x')).toBe(nobody.text.replaceAll('nobody', 'x'))
  })

  test("hide their addresses from those who don't manage members", async () => {
    const id = await createTeam(app, organization.id, { members: [owner, member] })
    const path = `/api/v2/teams/${id}/relationships/organization-memberships`
    const emails = async (token: string) =>
      (await app.request({ url: path, token })).json().data.map((row: any) => row.attributes.email)

    expect((await emails(owner.token)).toSorted()).toEqual([member.email, owner.email].toSorted())
    expect(await emails(member.token)).toEqual([null, member.email])
  })
})

describe('the owners team', () => {
  test("can't be deleted, renamed, hidden or made less", async () => {
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

  test('is not kept by a suspended account', async () => {
    const suspended = await createUser(app)
    await addMember(app, organization.id, suspended)
    await users('POST', ownersId, [suspended.username])
    await app.db.updateTable('users').set({ suspended_at: app.now() }).where('id', '=', suspended.id).execute()

    const last = await users('DELETE', ownersId, [owner.username])
    const other = await users('DELETE', ownersId, [suspended.username])

    expect([last.status, other.status]).toEqual([403, 204])
  })

  test('keeps one member when two owners remove each other at once', async () => {
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

  test('is out of reach for those who manage teams', async () => {
    const manager = await createUser(app)
    await createTeam(app, organization.id, { members: [manager], columns: { manage_organization_access: true } })
    await app.db.updateTable('teams').set({ visibility: 'organization' }).where('id', '=', ownersId).execute()

    expect((await users('POST', ownersId, [manager.username], manager.token)).status).toBe(403)
    expect((await update(ownersId, { 'sso-team-id': 'mine' }, manager.token)).status).toBe(403)
  })
})

describe("an organization's token", () => {
  test('reaches every team but the owners', async () => {
    const { text } = await createOrganizationToken(app.as(owner.actor), organization.name, { kind: 'organization' })
    const strong = await createTeam(app, organization.id, { columns: { manage_workspaces: true } })
    const body = {
      data: {
        type: 'organization-memberships',
        attributes: { email: 'heir@example.com' },
        relationships: { teams: { data: [{ type: 'teams', id: ownersId }] } },
      },
    }

    const added = await users('POST', ownersId, [member.username], text)
    const invited = await app.request({
      method: 'POST',
      url: `/api/v2/organizations/${organization.name}/organization-memberships`,
      token: text,
      body,
    })
    const grouped = await update(ownersId, { 'sso-team-id': 'group' }, text)

    expect([added.status, invited.status, grouped.status]).toEqual([403, 403, 403])
    expect((await show(ownersId, text)).status).toBe(200)
    expect((await users('POST', strong, [member.username], text)).status).toBe(204)
  })
})

describe('a team that may do more than the caller', () => {
  let manager: TestUser
  let colleague: TestUser
  let strong: string
  let equal: string
  beforeAll(async () => {
    manager = await createUser(app)
    colleague = await createUser(app)
    await addMember(app, organization.id, colleague)
    const columns = { visibility: 'organization' as const }
    const held = { manage_organization_access: true, manage_run_tasks: true }
    await createTeam(app, organization.id, { members: [manager], columns: { ...columns, ...held } })
    equal = await createTeam(app, organization.id, {
      columns: { ...columns, manage_run_tasks: true, manage_teams: true, manage_membership: true },
    })
    strong = await createTeam(app, organization.id, {
      columns: { ...columns, manage_run_tasks: true, manage_workspaces: true, manage_agent_pools: true },
    })
  })
  const send = (path: string, body: unknown) =>
    app.request({ method: 'POST', url: `/api/v2/${path}`, token: manager.token, body })
  const invite = (email: string, team: string) =>
    send(`organizations/${organization.name}/organization-memberships`, {
      data: {
        type: 'organization-memberships',
        attributes: { email },
        relationships: { teams: { data: [{ type: 'teams', id: team }] } },
      },
    })
  const membershipOf = async (user: TestUser) =>
    (await app.request({ url: '/api/v2/organization-memberships', token: user.token })).json().data[0].id
  const join = async (team: string) =>
    send(`teams/${team}/relationships/organization-memberships`, {
      data: [{ type: 'organization-memberships', id: await membershipOf(colleague) }],
    })
  const named = { data: { type: 'authentication-tokens', attributes: { description: 'named' } } }

  test('takes in nobody whom they put there, and hands them no token', async () => {
    const refused = [
      await users('POST', strong, [manager.username], manager.token),
      await join(strong),
      await invite('friend@example.com', strong),
      await send(`teams/${strong}/authentication-token`, {}),
      await send(`teams/${strong}/authentication-tokens`, named),
    ]

    for (const response of refused) {
      expect(response.status).toBe(403)
      expect(response.json().errors[0].detail).toMatch(/manage-workspaces, manage-agent-pools$/)
    }
  })

  test('can be changed in nothing, its group of sign-on included, and be lent nothing that they lack', async () => {
    const grant = { 'organization-access': { 'manage-workspaces': true } }

    const [group, less] = [
      await update(strong, { 'sso-team-id': 'my-group' }, manager.token),
      await update(strong, { 'organization-access': { 'manage-workspaces': false } }, manager.token),
    ]
    const [granted, made] = [
      await update(equal, grant, manager.token),
      await create({ name: 'too-strong', ...grant }, manager.token),
    ]

    expect([group.status, less.status, granted.status, made.status]).toEqual([403, 403, 403, 403])
    expect(made.json().errors[0].detail).toContain('manage-workspaces')
  })

  test('shows that it is out of their reach, while people can leave it', async () => {
    await users('POST', strong, [colleague.username])

    const { permissions } = (await show(strong, manager.token)).json().data.attributes
    const removed = await users('DELETE', strong, [colleague.username], manager.token)

    expect(permissions).toMatchObject({
      'can-update-membership': false,
      'can-update-api-token': false,
      'can-update-organization-access': false,
      'can-update-sso-team-id': false,
    })
    expect(removed.status).toBe(204)
  })

  test('is told from one that may do as much, or less', async () => {
    const passed = [
      await users('POST', equal, [colleague.username], manager.token),
      await join(equal),
      await send(`teams/${equal}/authentication-token`, {}),
      await send(`teams/${equal}/authentication-tokens`, named),
      await invite('colleague@example.com', equal),
      await update(equal, { 'organization-access': { 'manage-teams': false } }, manager.token),
      await create({ name: 'as-strong', 'organization-access': { 'manage-run-tasks': true } }, manager.token),
    ]

    expect(passed.map((response) => response.status)).toEqual([204, 204, 201, 201, 201, 200, 201])
  })
})

describe('who may', () => {
  test('a member without permission sees a visible team, and changes nothing', async () => {
    const id = await createTeam(app, organization.id, { columns: { visibility: 'organization' } })

    expect((await create({ name: 'x' }, member.token)).status).toBe(403)
    expect((await update(id, { name: 'y' }, member.token)).status).toBe(403)
    expect((await remove(id, member.token)).status).toBe(403)
    expect((await users('POST', id, [member.username], member.token)).status).toBe(403)
    expect((await show(id, outsider.token)).status).toBe(404)
  })

  test('who manages teams hands out no access to the organization', async () => {
    const manager = await createUser(app)
    await createTeam(app, organization.id, { members: [manager], columns: { manage_teams: true } })
    const id = await createTeam(app, organization.id, { columns: { visibility: 'organization' } })
    const grant = { 'organization-access': { 'manage-workspaces': true } }

    expect((await create({ name: 'by-manager' }, manager.token)).status).toBe(201)
    expect((await create({ name: 'by-manager-2', ...grant }, manager.token)).status).toBe(403)
    expect((await update(id, grant, manager.token)).status).toBe(403)
    expect(
      (await update(id, { name: 'renamed', 'organization-access': { 'manage-workspaces': false } }, manager.token))
        .status,
    ).toBe(200)
  })
})
