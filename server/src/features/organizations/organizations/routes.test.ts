import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)

async function create(attributes: object, token = owner.token) {
  const body = { data: { type: 'organizations', attributes } }
  return app.request({ method: 'POST', url: '/api/v2/organizations', token, body })
}

async function patch(name: string, attributes: object, token = owner.token) {
  const body = { data: { type: 'organizations', attributes } }
  return app.request({ method: 'PATCH', url: `/api/v2/organizations/${name}`, token, body })
}

test('a new organization is identified by its name, and its creator owns it', async () => {
  const res = await create({ name: 'acme', email: 'ops@acme.test' })

  expect(res.status).toBe(201)
  const { data } = res.json()
  expect(data.id).toBe('acme')
  expect(data.attributes).toMatchObject({
    name: 'acme',
    email: 'ops@acme.test',
    'default-execution-mode': 'remote',
    'plan-identifier': 'unlimited',
    permissions: { 'can-update': true, 'can-destroy': true, 'can-create-workspace': true, 'can-traverse': true },
  })
  expect(data.attributes['external-id']).toMatch(/^org-/)
  expect(data.relationships['default-project'].data).toMatchObject({ type: 'projects' })
})

test.each([
  [{ email: 'a@b.test' }, '/data/attributes/name', 'name is missing'],
  [{ name: 'no spaces', email: 'a@b.test' }, '/data/attributes/name', 'Name may only contain'],
  [{ name: 'settings', email: 'a@b.test' }, '/data/attributes/name', 'Name "settings" is reserved'],
  [{ name: 'fine' }, '/data/attributes/email', 'email is missing'],
  [{ name: 'fine', email: 'nonsense' }, '/data/attributes/email', 'email'],
  [
    { name: 'fine', email: 'a@b.test', 'default-execution-mode': 'agent' },
    '/data/relationships/default-agent-pool',
    "Default agent pool must be specified when using 'agent' execution mode",
  ],
])('attributes %j are rejected', async (attributes, pointer, detail) => {
  const res = await create(attributes)

  expect(res.status).toBe(422)
  expect(res.json().errors[0].source.pointer).toBe(pointer)
  expect(res.json().errors[0].detail).toContain(detail)
})

test('an organization that has a reserved name keeps it until it is renamed', async () => {
  const { name } = await createOrganization(app, owner)
  await app.db.updateTable('organizations').set({ name: 'admin' }).where('name', '=', name).execute()

  const kept = await patch('admin', { name: 'admin', email: 'new@acme.test' })
  const renamed = await patch('admin', { name: 'sign-in' })

  expect(kept.status).toBe(200)
  expect(kept.json().data.attributes).toMatchObject({ name: 'admin', email: 'new@acme.test' })
  expect(renamed.status).toBe(422)
  expect(renamed.json().errors[0].source.pointer).toBe('/data/attributes/name')
})

test('a name is unique, case-insensitively', async () => {
  await create({ name: 'taken', email: 'a@b.test' })

  const res = await create({ name: 'Taken', email: 'a@b.test' })

  expect(res.status).toBe(422)
  expect(res.json().errors[0].detail).toContain('Name has already been taken')
})

test('a list shows the organizations of the caller, and finds them by name and address', async () => {
  const user = await createUser(app)
  const mine = await createOrganization(app, user, { name: 'listed-one' })
  await createOrganization(app, user, { name: 'listed-two' })
  const guest = await createUser(app)
  await createTeamWithAccess(app, { members: [guest], organizationId: mine.id })
  const names = async (query: string, token = user.token) => {
    const res = await app.request({ url: `/api/v2/organizations?${query}`, token })
    const { data, meta } = res.json()
    expect(meta.pagination['total-count']).toBe(data.length)
    return data.map((organization: any) => organization.id)
  }

  expect(await names('')).toEqual(['listed-one', 'listed-two'])
  expect(await names('q=two')).toEqual(['listed-two'])
  expect(await names('q[name]=ONE')).toEqual(['listed-one'])
  expect(await names(`q[email]=${user.email}`)).toEqual(['listed-one', 'listed-two'])
  expect(await names('', guest.token)).toEqual(['listed-one'])
})

test('a member may read and not change; an outsider finds nothing', async () => {
  const organization = await createOrganization(app, owner)
  const [member, stranger] = [await createUser(app), await createUser(app)]
  await createTeamWithAccess(app, { members: [member], organizationId: organization.id })
  const url = `/api/v2/organizations/${organization.name}`

  const read = await app.request({ url, token: member.token })
  const changed = await patch(organization.name, { email: 'x@y.test' }, member.token)
  const deleted = await app.request({ method: 'DELETE', url, token: member.token })
  const hidden = [
    await app.request({ url, token: stranger.token }),
    await app.request({ url: `${url}/entitlement-set`, token: stranger.token }),
    await patch(organization.name, { email: 'x@y.test' }, stranger.token),
    await app.request({ method: 'DELETE', url, token: stranger.token }),
  ]

  expect(read.json().data.attributes.permissions).toMatchObject({ 'can-update': false, 'can-destroy': false })
  expect([changed.status, deleted.status]).toEqual([403, 403])
  expect(hidden.map((res) => res.status)).toEqual([404, 404, 404, 404])
})

test('an organization is renamed, and its settings change', async () => {
  const organization = await createOrganization(app, owner)

  const res = await patch(organization.name, { name: 'renamed', 'allow-force-delete-workspaces': true })

  expect(res.json().data).toMatchObject({ id: 'renamed', attributes: { 'allow-force-delete-workspaces': true } })
  const old = await app.request({ url: `/api/v2/organizations/${organization.name}`, token: owner.token })
  expect(old.status).toBe(404)
})

test('the entitlement set allows remote runs, the registry and policies, but not Sentinel', async () => {
  const organization = await createOrganization(app, owner)

  const res = await app.request({
    url: `/api/v2/organizations/${organization.name}/entitlement-set`,
    token: owner.token,
  })

  expect(res.json().data).toMatchObject({
    type: 'entitlement-sets',
    attributes: {
      operations: true,
      'state-storage': true,
      'run-tasks': true,
      agents: true,
      'user-limit': null,
      'private-module-registry': true,
      'policy-enforcement': true,
      sentinel: false,
    },
  })
})

test('the entitlement set and the default project are included', async () => {
  const organization = await createOrganization(app, owner)
  const url = `/api/v2/organizations/${organization.name}`

  const res = await app.request({ url: `${url}?include=entitlement_set,default-project`, token: owner.token })

  expect(res.json().included.map((resource: any) => resource.type)).toEqual(['entitlement-sets', 'projects'])
})

test('a deleted organization is deleted with its contents', async () => {
  const organization = await createOrganization(app, owner)
  const workspace = await createWorkspace(app, { organization: organization.name, tags: ['a'] })

  const accounts = await app.db
    .selectFrom('teams')
    .select('service_user_id')
    .where('organization_id', '=', organization.id)
    .execute()
  const url = `/api/v2/organizations/${organization.name}`

  const res = await app.request({ method: 'DELETE', url, token: owner.token })

  expect(res.status).toBe(204)
  const deleted = await app.request({ url: `/api/v2/workspaces/${workspace.id}`, token: owner.token })
  expect(deleted.status).toBe(404)
  expect(accounts).toHaveLength(1)
  const id = accounts[0]?.service_user_id ?? ''
  const left = await app.db.selectFrom('users').select('id').where('id', '=', id).execute()
  expect(left).toEqual([])
})

test('a number out of bounds is rejected with the bounds', async () => {
  const { name } = (await create({ name: 'bounded', email: 'ops@acme.test' })).json().data.attributes

  const [low, high] = [await patch(name, { 'session-timeout': 0 }), await patch(name, { 'session-remember': 2 ** 31 })]

  expect([low.status, high.status]).toEqual([422, 422])
  expect(low.json().errors[0].detail).toBe('session-timeout is 0; it must be at least 1')
  expect(high.json().errors[0].detail).toMatch(/^session-remember is 2147483648; it must be at most /)
})

test('a search by address finds only organizations whose address is visible', async () => {
  await create({ name: 'addressed', email: 'secret-address@b.test' })
  const { id } = await app.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', 'addressed')
    .executeTakeFirstOrThrow()
  const [member, manager] = [await createUser(app), await createUser(app)]
  await addMember(app, id, member)
  await createTeamWithAccess(app, { members: [manager], organizationId: id, organization: { manage_membership: true } })
  const found = async (token: string) =>
    Promise.all(
      ['q=secret-address', 'q[email]=secret-address'].map(
        async (query) => (await app.request({ url: `/api/v2/organizations?${query}`, token })).json().data.length,
      ),
    )

  expect(await Promise.all([owner, manager, member].map(async ({ token }) => found(token)))).toEqual([
    [1, 1],
    [1, 1],
    [0, 0],
  ])
})
