import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

async function newWorkspace() {
  return createWorkspace(app, { organization: acme.name, actor: owner.actor })
}

async function create(workspaceId: string, attributes: object, token = owner.token) {
  const body = { data: { type: 'vars', attributes } }
  return app.request({ method: 'POST', url: `/api/v2/workspaces/${workspaceId}/vars`, token, body })
}

async function patch(url: string, attributes: object, token = owner.token) {
  const body = { data: { type: 'vars', attributes } }
  return app.request({ method: 'PATCH', url: `/api/v2/${url}`, token, body })
}

test('a variable is created, shown, changed and deleted', async () => {
  const workspace = await newWorkspace()
  const attributes = { key: 'region', value: 'eu ${x} "q"\nline', category: 'terraform', description: 'where' }

  const created = await create(workspace.id, attributes)
  const url = `workspaces/${workspace.id}/vars/${created.json().data.id}`
  const changed = await patch(url, { value: '["a"]', hcl: true })
  const shown = await app.request({ url: `/api/v2/${url}`, token: owner.token })
  const deleted = await app.request({ method: 'DELETE', url: `/api/v2/${url}`, token: owner.token })
  const afterDeletion = await app.request({ url: `/api/v2/${url}`, token: owner.token })

  expect(created.status).toBe(201)
  expect(created.json().data).toMatchObject({
    id: expect.stringMatching(/^var-/),
    type: 'vars',
    attributes: { ...attributes, hcl: false, sensitive: false, 'version-id': expect.stringMatching(/^[0-9a-f]{64}$/) },
    relationships: { configurable: { data: { id: workspace.id, type: 'workspaces' } } },
  })
  expect(changed.json().data.attributes).toMatchObject({
    key: 'region',
    value: '["a"]',
    hcl: true,
    description: 'where',
  })
  expect(changed.json().data.attributes['version-id']).not.toBe(created.json().data.attributes['version-id'])
  expect(shown.json()).toEqual(changed.json())
  expect([deleted.status, afterDeletion.status]).toEqual([204, 404])
})

test('a workspace names its variables to those who may read them; lists of workspaces only link to them', async () => {
  const workspace = await newWorkspace()
  const ids = []
  for (const key of ['b', 'a']) ids.push((await create(workspace.id, { key, category: 'env' })).json().data.id)
  const reader = await createUser(app)
  await createTeamWithAccess(app, {
    members: [reader],
    organizationId: acme.id,
    workspaces: { [workspace.id]: 'custom' },
  })
  const relation = async (path: string, token: string) => {
    const { data } = (await app.request({ url: `/api/v2/${path}`, token })).json()
    return [data].flat().find(({ id }: any) => id === workspace.id).relationships.vars
  }

  const links = { related: `/api/v2/workspaces/${workspace.id}/vars` }
  const data = ids.toReversed().map((id) => ({ id, type: 'vars' }))
  expect(await relation(`workspaces/${workspace.id}`, owner.token)).toEqual({ data, links })
  expect(await relation(`organizations/${acme.name}/workspaces/${workspace.name}`, owner.token)).toEqual({
    data,
    links,
  })
  expect(await relation(`workspaces/${workspace.id}`, reader.token)).toEqual({ links })
  expect(await relation(`organizations/${acme.name}/workspaces?page[size]=100`, owner.token)).toEqual({ links })
})

test('a sensitive value is never shown again, nor stored in plain text', async () => {
  const workspace = await newWorkspace()
  const created = await create(workspace.id, { key: 'secret', value: 'hunter2', category: 'env', sensitive: true })
  const url = `workspaces/${workspace.id}/vars/${created.json().data.id}`

  const responses = [
    created,
    await patch(url, { description: 'new' }),
    await patch(url, { sensitive: false }),
    await app.request({ url: `/api/v2/${url}`, token: owner.token }),
    await app.request({ url: `/api/v2/workspaces/${workspace.id}/vars`, token: owner.token }),
    await app.request({ url: `/api/v2/workspaces/${workspace.id}?include=vars`, token: owner.token }),
  ]

  expect(responses.map((response) => response.status)).toEqual([201, 200, 422, 200, 200, 200])
  expect(responses.map((response) => response.text).join()).not.toContain('hunter2')
  expect(created.json().data.attributes).toMatchObject({ value: null, sensitive: true })
  const row = await app.db
    .selectFrom('variables')
    .selectAll()
    .where('id', '=', created.json().data.id)
    .executeTakeFirstOrThrow()
  expect(row.value).toBeNull()
  expect(row.sealed_value?.includes('hunter2')).toBe(false)
})

test('a variable can become sensitive and keep its value', async () => {
  const workspace = await newWorkspace()
  const created = await create(workspace.id, { key: 'late', value: 'now secret', category: 'terraform' })

  const res = await patch(`workspaces/${workspace.id}/vars/${created.json().data.id}`, { sensitive: true })

  expect(res.json().data.attributes).toMatchObject({ value: null, sensitive: true })
})

test('a key is unique in its category', async () => {
  const workspace = await newWorkspace()
  await create(workspace.id, { key: 'twice', category: 'terraform' })

  const again = await create(workspace.id, { key: 'twice', category: 'terraform' })
  const other = await create(workspace.id, { key: 'twice', category: 'env' })
  const moved = await patch(`workspaces/${workspace.id}/vars/${other.json().data.id}`, { category: 'terraform' })

  expect(again.status).toBe(422)
  expect(again.json().errors[0]).toMatchObject({ source: { pointer: '/data/attributes/key' } })
  expect(again.json().errors[0].detail).toContain('Key has already been taken')
  expect([other.status, moved.status]).toEqual([201, 422])
})

test.each([
  [{ category: 'terraform' }, '/data/attributes/key', 'key is missing'],
  [{ key: '', category: 'terraform' }, '/data/attributes/key', "can't be blank"],
  [{ key: 'a b', category: 'terraform' }, '/data/attributes/key', 'may only contain'],
  [{ key: '-a', category: 'terraform' }, '/data/attributes/key', 'must start with a letter, number or underscore'],
  [
    { key: 'a', category: 'env', description: 'x'.repeat(513) },
    '/data/attributes/description',
    'at most 512 characters',
  ],
  [{ key: 'a=b', category: 'env' }, '/data/attributes/key', 'equals signs'],
  [{ key: 'a' }, '/data/attributes/category', 'category is missing'],
  [{ key: 'a', category: 'policy-set' }, '/data/attributes/category', '"terraform", "env"'],
  [{ key: 'a', category: 'env', value: 'a\0b' }, '/data/attributes/value', 'the character U+0000'],
  [{ key: 'a', category: 'env', value: 'x'.repeat(262_145) }, '/data/attributes/value', '256 KB'],
  [{ key: 'a', category: 'env', value: 5 }, '/data/attributes/value', 'it must be a string'],
])('attributes %j are rejected', async (attributes, pointer, detail) => {
  const workspace = await newWorkspace()

  const res = await create(workspace.id, attributes)

  expect(res.status).toBe(422)
  expect(res.json().errors[0].source.pointer).toBe(pointer)
  expect(res.json().errors[0].detail).toContain(detail)
})

test.each(['terraform', 'env'])('a key of the category %s may begin with a digit', async (category) => {
  const workspace = await newWorkspace()

  const res = await create(workspace.id, { key: '1_key', category, description: 'x'.repeat(512) })

  expect(res.status).toBe(201)
  expect(res.json().data.attributes).toMatchObject({ key: '1_key', category })
})

test('a value may have 256 KB', async () => {
  const workspace = await newWorkspace()

  const res = await create(workspace.id, { key: 'big', category: 'env', value: 'x'.repeat(262_144) })

  expect(res.status).toBe(201)
})

test('a list has all variables on one page', async () => {
  const workspace = await newWorkspace()
  for (let i = 0; i < 25; i += 1) await create(workspace.id, { key: `v${i}`, category: 'terraform', value: String(i) })

  const res = await app.request({ url: `/api/v2/workspaces/${workspace.id}/vars`, token: owner.token })

  expect(res.json().data).toHaveLength(25)
  expect(res.json().meta.pagination).toMatchObject({ 'total-pages': 1, 'total-count': 25 })
})

test('readers can read, writers can write, and strangers get 404', async () => {
  const workspace = await newWorkspace()
  const created = await create(workspace.id, { key: 'k', category: 'env', value: 'v' })
  const [reader, writer, stranger] = [await createUser(app), await createUser(app), await createUser(app)]
  const organizationId = acme.id
  await createTeamWithAccess(app, { members: [reader], organizationId, workspaces: { [workspace.id]: 'read' } })
  await createTeamWithAccess(app, { members: [writer], organizationId, workspaces: { [workspace.id]: 'write' } })
  const { id } = created.json().data
  const list = async (token: string) =>
    (await app.request({ url: `/api/v2/workspaces/${workspace.id}/vars`, token })).status
  const change = async (token: string) =>
    (await patch(`workspaces/${workspace.id}/vars/${id}`, { value: 'w' }, token)).status
  const legacy = async (token: string) => (await patch(`vars/${id}`, { value: 'w' }, token)).status

  expect([await list(reader.token), await list(writer.token), await list(stranger.token)]).toEqual([200, 200, 404])
  expect([await change(reader.token), await change(writer.token), await change(stranger.token)]).toEqual([
    403, 200, 404,
  ])
  expect([await legacy(reader.token), await legacy(writer.token), await legacy(stranger.token)]).toEqual([
    403, 200, 404,
  ])
})

test('a variable of another workspace is not found', async () => {
  const [mine, other] = [await newWorkspace(), await newWorkspace()]
  const created = await create(other.id, { key: 'k', category: 'env' })

  const res = await patch(`workspaces/${mine.id}/vars/${created.json().data.id}`, { value: 'x' })

  expect(res.status).toBe(404)
})

test('the legacy API takes the workspace from the body or from filters', async () => {
  const workspace = await newWorkspace()
  const relationships = { workspace: { data: { type: 'workspaces', id: workspace.id } } }
  const body = { data: { type: 'vars', attributes: { key: 'old', category: 'terraform' }, relationships } }

  const created = await app.request({ method: 'POST', url: '/api/v2/vars', token: owner.token, body })
  const filters = `filter[organization][name]=${acme.name}&filter[workspace][name]=${workspace.name}`
  const listed = await app.request({ url: `/api/v2/vars?${filters}`, token: owner.token })
  const missing = await app.request({ url: '/api/v2/vars', token: owner.token })
  const deleted = await app.request({
    method: 'DELETE',
    url: `/api/v2/vars/${created.json().data.id}`,
    token: owner.token,
  })

  expect(listed.json().data.map((item: any) => item.attributes.key)).toEqual(['old'])
  expect([created.status, missing.status, deleted.status]).toEqual([201, 422, 204])
})

test('the variables of a workspace are not found by callers who may not read them', async () => {
  const workspace = await newWorkspace()
  const id = (await create(workspace.id, { key: 'zone', value: 'a', category: 'env' })).json().data.id
  const member = await createUser(app)
  // The initial custom access allows to read runs, but not variables.
  await createTeamWithAccess(app, {
    members: [member],
    organizationId: acme.id,
    workspaces: { [workspace.id]: 'custom' },
  })
  await app.db
    .updateTable('team_workspaces')
    .set({ variables: 'none' })
    .where('workspace_id', '=', workspace.id)
    .execute()
  const status = async (method: 'GET' | 'DELETE', url: string) =>
    (await app.request({ method, url: `/api/v2/${url}`, token: member.token })).status
  const own = `workspaces/${workspace.id}`

  expect(await status('GET', own)).toBe(200)
  for (const url of [`${own}/vars`, `${own}/all-vars`, `${own}/varsets`, `${own}/vars/${id}`])
    expect(await status('GET', url)).toBe(404)
  expect((await patch(`${own}/vars/${id}`, { value: 'b' }, member.token)).status).toBe(404)
  expect(await status('DELETE', `${own}/vars/${id}`)).toBe(404)
  expect((await create(workspace.id, { key: 'k', category: 'env' }, member.token)).status).toBe(403)
})

test('several variables are changed together, all or none', async () => {
  const workspace = await newWorkspace()
  const make = async (key: string) =>
    (await create(workspace.id, { key, value: 'old', category: 'env' })).json().data.id
  const [first, second] = [await make('first'), await make('second')]
  const change = (...changes: object[]) =>
    app.request({
      method: 'PATCH',
      url: `/api/v2/workspaces/${workspace.id}/relationships/vars`,
      token: owner.token,
      body: { data: changes.map((item) => ({ type: 'vars', ...item })) },
    })
  const values = async () => {
    const list = await app.request({ url: `/api/v2/workspaces/${workspace.id}/vars`, token: owner.token })
    return list.json().data.map(({ attributes }: { attributes: { value: string } }) => attributes.value)
  }

  const one = { id: first, attributes: { value: 'new' } }
  const unknown = await change(one, { id: 'var-0000000000000000', attributes: { value: 'x' } })
  const taken = await change(one, { id: second, attributes: { key: 'first' } })
  expect(await values()).toEqual(['old', 'old'])
  const done = await change(one, { id: second, attributes: { value: 'newer' } })

  expect(unknown.json().errors[0]).toMatchObject({ status: '422', source: { pointer: '/data/1/id' } })
  expect(taken.json().errors[0]).toMatchObject({ status: '422', source: { pointer: '/data/1/attributes/key' } })
  expect(done.status).toBe(204)
  expect(await values()).toEqual(['new', 'newer'])
})

test('of former sensitive values a bounded number of digests is kept, the newest', async () => {
  const { id } = await newWorkspace()
  const many = JSON.stringify(Array.from({ length: 600 }, (_, index) => `former ${index}`))
  const attributes = { key: 'many', value: many, hcl: true, category: 'terraform', sensitive: true }
  const url = `workspaces/${id}/vars/${(await create(id, attributes)).json().data.id}`
  const digests = async () =>
    app.db
      .selectFrom('former_sensitive_values')
      .select(['digest', 'length'])
      .where('workspace_id', '=', id)
      .orderBy('length', 'desc')
      .execute()

  await patch(url, { description: 'the value is unchanged' })
  expect(await digests()).toEqual([])
  await patch(url, { value: 'correct horse battery' })
  const before = await digests()
  for (const value of ['x'.repeat(50_000), 'correct horse battery', 'y'.repeat(60_000), 'other than before'])
    await patch(url, { value })

  const after = await digests()
  expect([before.length, after.length]).toEqual([500, 500])
  expect(after.slice(0, 2).map(({ length }) => length)).toEqual([60_000, 50_000])
  expect(after.filter(({ length }) => length === 'correct horse battery'.length)).toHaveLength(1)
})
