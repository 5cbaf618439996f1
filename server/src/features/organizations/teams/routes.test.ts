import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import { addMember, createTeam, createTeamToken } from '../../../testing/teams.ts'

let app: TestApp
let owner: TestUser
let member: TestUser
let outsider: TestUser
let organization: { id: string; name: string }
beforeAll(async () => {
  app = await createTestApp()
  ;[owner, member, outsider] = [await createUser(app), await createUser(app), await createUser(app)]
  organization = await createOrganization(app, owner)
  await addMember(app, organization.id, member)
})

const url = () => `/api/v2/organizations/${organization.name}/teams`
const list = (query = '', token = owner.token) => app.request({ url: `${url()}${query}`, token })
const show = (id: string, token = owner.token, query = '') => app.request({ url: `/api/v2/teams/${id}${query}`, token })
const create = (attributes: Record<string, unknown>, token = owner.token) =>
  app.request({ method: 'POST', url: url(), token, body: { data: { type: 'teams', attributes } } })
const update = (id: string, attributes: Record<string, unknown>, token = owner.token) =>
  app.request({ method: 'PATCH', url: `/api/v2/teams/${id}`, token, body: { data: { type: 'teams', attributes } } })
const remove = (id: string, token = owner.token) => app.request({ method: 'DELETE', url: `/api/v2/teams/${id}`, token })

describe('a team', () => {
  test("is created with its access and shown with the caller's permissions", async () => {
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

  test('has a unique name within its organization', async () => {
    await create({ name: 'taken' })

    const double = await create({ name: 'Taken' })
    expect([double.status, double.json().errors[0].detail]).toEqual([422, 'Name has already been taken'])
    expect((await create({})).status).toBe(422)
  })

  test.each(['Site Reliability / On-call', 'R&D (Zürich): #1', 'ΟΔΟΣ', "a'b%c_d?e=f"])(
    'may be called %s, and is found by that name in any case',
    async (name) => {
      const created = await create({ name: ` ${name} ` })
      const id = created.json().data.id

      const found = await list(`?filter[names]=${encodeURIComponent(name.toUpperCase())}`)
      const searched = await list(`?q=${encodeURIComponent(name)}`)
      const renamed = await update(id, { name: `${name} 2` })

      expect([created.status, created.json().data.attributes.name]).toEqual([201, name])
      expect(found.json().data.map((team: any) => team.id)).toEqual([id])
      expect(searched.json().data.map((team: any) => team.id)).toEqual([id])
      expect(renamed.json().data.attributes.name).toBe(`${name} 2`)
    },
  )

  test.each(['a,b', 'two\nlines', 'left-\u202eright', ' ', 'x'.repeat(91)])('may not be called %j', async (name) => {
    const refused = await create({ name })

    expect([refused.status, refused.json().errors[0].source.pointer]).toEqual([422, '/data/attributes/name'])
    expect(refused.json().errors[0].detail).toMatch(/name (may only contain|is too long|can't be blank)/i)
  })

  test('that manages projects also manages workspaces; a request for less is rejected with the reason', async () => {
    const { data } = (await create({ name: 'projects', 'organization-access': { 'manage-projects': true } })).json()

    const refused = await update(data.id, { 'organization-access': { 'manage-workspaces': false } })

    expect(data.attributes['organization-access']['manage-workspaces']).toBe(true)
    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/organization-access/manage-workspaces')
  })

  test('changes only the given attributes', async () => {
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

  test('has a description, which can be changed and removed', async () => {
    const created = (await create({ name: 'described', description: 'looks after the network' })).json().data
    const renamed = await update(created.id, { name: 'described-2' })
    const cleared = await update(created.id, { description: null })

    expect(created.attributes.description).toBe('looks after the network')
    expect(renamed.json().data.attributes.description).toBe('looks after the network')
    expect(cleared.json().data.attributes.description).toBeNull()
  })

  test('is deleted with its tokens', async () => {
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

  test("contains the visible teams and the caller's own", async () => {
    await createTeam(app, organization.id, { name: 'hidden' })
    await createTeam(app, organization.id, { name: 'mine', members: [member] })
    await createTeam(app, organization.id, { name: 'open', columns: { visibility: 'organization' } })

    const seen = (await list('?page[size]=100&filter[names]=hidden,mine,open', member.token)).json()

    expect(seen.data.map((team: any) => team.attributes.name)).toEqual(['mine', 'open'])
    expect(seen.meta.pagination['total-count']).toBe(2)
    expect((await list('', outsider.token)).status).toBe(404)
  })
})
