import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createProject, createUser, createWorkspace } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)

async function newWorkspace(tags: readonly string[] = [], projectId?: string) {
  return createWorkspace(app, {
    organization: acme.name,
    actor: owner.actor,
    tags,
    ...(projectId !== undefined && { projectId }),
  })
}

async function send(method: 'POST' | 'PATCH' | 'DELETE', url: string, data: readonly object[], token = owner.token) {
  return app.request({ method, url: `/api/v2/${url}`, token, body: { data } })
}

function bindings(pairs: Record<string, string | undefined>) {
  return Object.entries(pairs).map(([key, value]) => ({ type: 'tag-bindings', attributes: { key, value } }))
}

function flat(...names: string[]) {
  return names.map((name) => ({ type: 'tags', attributes: { name } }))
}

async function show(url: string, token = owner.token) {
  return (await app.request({ url: `/api/v2/${url}`, token })).json().data
}

async function bound(workspaceId: string) {
  const data = await show(`workspaces/${workspaceId}/tag-bindings`)
  return Object.fromEntries(data.map((item: any) => [item.attributes.key, item.attributes.value]))
}

async function tagNames(workspaceId: string) {
  return (await show(`workspaces/${workspaceId}`)).attributes['tag-names']
}

test('a workspace can be created with tags by name', async () => {
  const body = {
    data: {
      type: 'workspaces',
      attributes: { name: 'with-tags' },
      relationships: {
        tags: { data: flat('one') },
        'tag-bindings': { data: bindings({ team: 'core', two: undefined }) },
      },
    },
  }

  const url = `/api/v2/organizations/${acme.name}/workspaces`
  const res = await app.request({ method: 'POST', url, token: owner.token, body })

  expect(res.status).toBe(201)
  expect(res.json().data.attributes['tag-names']).toEqual(['one', 'two'])
  expect(await bound(res.json().data.id)).toEqual({ one: '', team: 'core', two: '' })
})

test('a flat tag is a tag binding without a value', async () => {
  const workspace = await newWorkspace()

  const merged = await send(
    'PATCH',
    `workspaces/${workspace.id}/tag-bindings`,
    bindings({ keyed: undefined, env: 'x' }),
  )
  const added = await send('POST', `workspaces/${workspace.id}/relationships/tags`, flat('named', 'env'))

  expect(merged.status).toBe(200)
  expect(merged.json().data.map((item: any) => item.attributes.key)).toEqual(['env', 'keyed'])
  expect(added.status).toBe(204)
  expect(await tagNames(workspace.id)).toEqual(['keyed', 'named'])
  expect(await bound(workspace.id)).toEqual({ env: 'x', keyed: '', named: '' })
})

test('the short path merges, the relation replaces, and POST adds', async () => {
  const workspace = await newWorkspace()
  const path = `workspaces/${workspace.id}`
  await send('PATCH', `${path}/tag-bindings`, bindings({ a: '1', b: '2' }))

  await send('PATCH', `${path}/tag-bindings`, bindings({ b: '3', c: '4' }))
  expect(await bound(workspace.id)).toEqual({ a: '1', b: '3', c: '4' })

  expect((await send('POST', `${path}/relationships/tag-bindings`, bindings({ d: '5' }))).status).toBe(204)
  expect(await bound(workspace.id)).toEqual({ a: '1', b: '3', c: '4', d: '5' })

  expect((await send('PATCH', `${path}/relationships/tag-bindings`, bindings({ e: '6' }))).status).toBe(204)
  expect(await bound(workspace.id)).toEqual({ e: '6' })
})

async function patchBindings(workspaceId: string, pairs: Record<string, string | undefined>) {
  const relationships = { 'tag-bindings': { data: bindings(pairs) } }
  const body = { data: { type: 'workspaces', relationships } }
  const url = `/api/v2/workspaces/${workspaceId}?include=effective_tag_bindings`
  const res = await app.request({ method: 'PATCH', url, token: owner.token, body })
  const effective = (await show(`workspaces/${workspaceId}/effective-tag-bindings`)) as any[]
  return { names: res.json().data.attributes['tag-names'], effective: effective.map((item) => item.attributes.key) }
}

test('an update of the workspace replaces its tag bindings and keeps its flat tags', async () => {
  const workspace = await newWorkspace(['a', 'b'])
  await send('PATCH', `workspaces/${workspace.id}/tag-bindings`, bindings({ env: 'x', bare: undefined }))

  const replaced = await patchBindings(workspace.id, { team: 'core' })
  const emptied = await patchBindings(workspace.id, {})

  expect(replaced).toEqual({ names: ['a', 'b'], effective: ['team'] })
  expect(emptied).toEqual({ names: ['a', 'b'], effective: [] })
})

test('a flat tag that an update sends without a value becomes a binding', async () => {
  const workspace = await newWorkspace(['a', 'b'])

  const bound = await patchBindings(workspace.id, { a: undefined })

  expect(bound).toEqual({ names: ['a', 'b'], effective: ['a'] })
})

test('a list of tag bindings that is sent back leaves flat tags as they are', async () => {
  const workspace = await newWorkspace(['a', 'b'])
  const path = `workspaces/${workspace.id}`
  await send('PATCH', `${path}/tag-bindings`, bindings({ env: 'x' }))

  await send('PATCH', `${path}/relationships/tag-bindings`, bindings({ a: '', b: 'now', env: 'y', bare: '' }))
  const effective = await show(`${path}/effective-tag-bindings`)
  await send('PATCH', `${path}/relationships/tag-bindings`, [])

  expect(effective.map((item: any) => item.attributes.key)).toEqual(['b', 'bare', 'env'])
  expect(await tagNames(workspace.id)).toEqual(['a'])
})

test('a flat tag has one id in the organization, by which it is added and removed', async () => {
  const [first, second] = [await newWorkspace(['shared', 'own']), await newWorkspace(['shared'])]
  const [tag] = await show(`workspaces/${second.id}/relationships/tags`)

  const [same] = await show(`organizations/${acme.name}/tags?q=shared`)
  const third = await newWorkspace()
  const added = await send('POST', `tags/${tag.id}/relationships/workspaces`, [{ type: 'workspaces', id: third.id }])
  const removed = await send('DELETE', `workspaces/${first.id}/relationships/tags`, [{ type: 'tags', id: tag.id }])

  expect(tag.attributes).toMatchObject({ name: 'shared', 'instance-count': 2 })
  expect(same.id).toBe(tag.id)
  expect([added.status, removed.status]).toEqual([204, 204])
  expect(await tagNames(first.id)).toEqual(['own'])
  expect(await tagNames(third.id)).toEqual(['shared'])
})

test('deleting a tag from an organization removes it only from the workspaces of that organization', async () => {
  const rivals = await createOrganization(app, owner)
  const mine = await newWorkspace(['doomed', 'kept'])
  const theirs = await createWorkspace(app, { organization: rivals.name, tags: ['doomed'] })
  const [tag] = await show(`organizations/${acme.name}/tags?q=doomed`)

  const wrong = await send('DELETE', `organizations/${rivals.name}/tags`, [{ type: 'tags', id: tag.id }])
  const res = await send('DELETE', `organizations/${acme.name}/tags`, [{ type: 'tags', id: tag.id }])

  expect([wrong.status, res.status]).toEqual([422, 204])
  expect(await tagNames(mine.id)).toEqual(['kept'])
  expect(await tagNames(theirs.id)).toEqual(['doomed'])
})

test('the list of tags includes only tags of visible workspaces', async () => {
  const visible = await newWorkspace(['seen'])
  await newWorkspace(['unseen'])
  const member = await createUser(app)
  await createTeamWithAccess(app, { members: [member], organizationId: acme.id, workspaces: { [visible.id]: 'read' } })

  const tags = await show(`organizations/${acme.name}/tags?q=seen`, member.token)
  const excluded = await show(`organizations/${acme.name}/tags?q=seen&filter[exclude][taggable][id]=${visible.id}`)

  expect(tags.map((tag: any) => tag.attributes.name)).toEqual(['seen'])
  expect(excluded.map((tag: any) => tag.attributes.name)).toEqual(['unseen'])
  const refused = await send('POST', `workspaces/${visible.id}/relationships/tags`, flat('x'), member.token)
  expect(refused.status).toBe(403)
})

test('tags of hidden workspaces are neither counted nor revealed by a filter', async () => {
  const visible = await newWorkspace(['counted', 'probed'])
  const hidden = await newWorkspace(['counted', 'probed'])
  const member = await createUser(app)
  await createTeamWithAccess(app, { members: [member], organizationId: acme.id, workspaces: { [visible.id]: 'read' } })

  const tags = async (token: string) => show(`workspaces/${visible.id}/relationships/tags`, token)
  const filter = `q=probed&filter[exclude][taggable][id]=${hidden.id}`
  const probed = await show(`organizations/${acme.name}/tags?${filter}`, member.token)

  const counts = async (token: string) => (await tags(token)).map((tag: any) => tag.attributes['instance-count'])
  expect(await counts(owner.token)).toEqual([2, 2])
  expect(await counts(member.token)).toEqual([1, 1])
  expect(probed.map((tag: any) => tag.attributes.name)).toEqual(['probed'])
})

test('workspaces inherit tags of their project unless they set their own', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const workspace = await newWorkspace([], project.id)
  await send('PATCH', `projects/${project.id}/tag-bindings`, bindings({ team: 'core', tier: 'gold' }))
  await send('PATCH', `workspaces/${workspace.id}/tag-bindings`, bindings({ team: 'mine' }))

  const effective = await show(`workspaces/${workspace.id}/effective-tag-bindings`)

  expect(effective.map((item: any) => [item.attributes.key, item.attributes.value])).toEqual([
    ['team', 'mine'],
    ['tier', 'gold'],
  ])
  expect(effective[0].links).toBeUndefined()
  expect(effective[1].links['inherited-from']).toBe(`/api/v2/projects/${project.id}`)
})

test('a tag that a project reserves is an error that names the workspace', async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor, name: 'fixed' })
  const { status } = await send('PATCH', `projects/${project.id}/tag-bindings`, bindings({ kept: 'by-project' }))
  await newWorkspace(['kept'])
  const free = await newWorkspace()
  const fixed = await newWorkspace([], project.id)
  const attributes = { key: 'kept', 'disable-overrides': true }
  const reserved = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${acme.name}/reserved-tag-keys`,
    token: owner.token,
    body: { data: { type: 'reserved-tag-keys', attributes } },
  })
  const [tag] = await show(`organizations/${acme.name}/tags?q=kept`)

  const response = await send('POST', `tags/${tag.id}/relationships/workspaces`, [
    { type: 'workspaces', id: free.id },
    { type: 'workspaces', id: fixed.id },
  ])

  expect([status, reserved.status, response.status]).toEqual([200, 201, 422])
  expect(response.json().errors).toMatchObject([
    { detail: expect.stringContaining(fixed.name), source: { pointer: '/data/1/id' } },
  ])
})

test("a reserved key that workspaces may not override has the project's value", async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const workspace = await newWorkspace([], project.id)
  await send('PATCH', `workspaces/${workspace.id}/tag-bindings`, bindings({ fixed: 'mine', free: 'mine' }))
  await send('PATCH', `projects/${project.id}/tag-bindings`, bindings({ fixed: 'core', free: 'core' }))
  for (const [key, isFixed] of Object.entries({ fixed: true, free: false })) {
    const data = { type: 'reserved-tag-keys', attributes: { key, 'disable-overrides': isFixed } }
    const url = `/api/v2/organizations/${acme.name}/reserved-tag-keys`
    await app.request({ method: 'POST', url, token: owner.token, body: { data } })
  }

  const effective = await show(`workspaces/${workspace.id}/effective-tag-bindings`)

  expect(effective.map((item: any) => [item.attributes.key, item.attributes.value])).toEqual([
    ['fixed', 'core'],
    ['free', 'mine'],
  ])
})

test("flat tags are not effective tag bindings and do not override the project's", async () => {
  const project = await createProject(app, { organization: acme.name, actor: owner.actor })
  const workspace = await newWorkspace(['team', 'flat'], project.id)
  await send('PATCH', `projects/${project.id}/tag-bindings`, bindings({ team: 'core', bare: '' }))
  await send('PATCH', `workspaces/${workspace.id}/tag-bindings`, bindings({ own: '' }))

  const effective = await show(`workspaces/${workspace.id}/effective-tag-bindings`)
  const included = await app.request({
    url: `/api/v2/workspaces/${workspace.id}?include=effective_tag_bindings`,
    token: owner.token,
  })

  const pairs = (items: any[]) => items.map(({ attributes }) => [attributes.key, attributes.value])
  expect(pairs(effective)).toEqual([
    ['bare', ''],
    ['own', ''],
    ['team', 'core'],
  ])
  expect(pairs(included.json().included)).toEqual(pairs(effective))
})

test.each([
  [[{ type: 'tag-bindings', attributes: { value: 'x' } }], '/data/0/attributes/key'],
  [[{ type: 'tag-bindings', attributes: { key: 'bad\nkey' } }], '/data/0/attributes/key'],
  [[{ type: 'tag-bindings', attributes: { key: 'k', value: 'a\0b' } }], '/data/0/attributes/value'],
  [[...bindings({ a: '1' }), ...bindings({ a: '2' })], '/data/1/attributes/key'],
  ['nonsense', '/data'],
])('bindings %j are rejected', async (data, pointer) => {
  const workspace = await newWorkspace()

  const url = `/api/v2/workspaces/${workspace.id}/tag-bindings`
  const res = await app.request({ method: 'PATCH', url, token: owner.token, body: { data } })

  expect(res.status).toBe(422)
  expect(res.json().errors[0].source.pointer).toBe(pointer)
})

test('the tags of an organization are listed by key and value, with the workspaces and projects that have them', async () => {
  const organization = await createOrganization(app, owner)
  const create = { organization: organization.name, actor: owner.actor }
  const project = await createProject(app, create)
  const [plain, inside, override] = [
    await createWorkspace(app, { ...create, tags: ['kafka'] }),
    await createWorkspace(app, { ...create, projectId: project.id }),
    await createWorkspace(app, { ...create, projectId: project.id }),
  ]
  await send('PATCH', `projects/${project.id}/tag-bindings`, bindings({ env: 'prod' }))
  await send('PATCH', `workspaces/${override.id}/tag-bindings`, bindings({ env: 'dev' }))
  const member = await createUser(app)
  await createTeamWithAccess(app, {
    members: [member],
    organizationId: organization.id,
    workspaces: { [inside.id]: 'read', [plain.id]: 'read' },
  })
  const list = async (query = '', token = owner.token) =>
    (await show(`organizations/${organization.name}/tag-values${query}`, token)).map(({ attributes }: any) =>
      Object.values(attributes),
    )

  expect(await list()).toEqual([
    ['env', 'dev', 1, 0],
    ['env', 'prod', 1, 1],
    ['kafka', '', 1, 0],
  ])
  expect(await list('?q=pro')).toEqual([['env', 'prod', 1, 1]])
  expect(await list('', member.token)).toEqual([['kafka', '', 1, 0]])
})

test('a tag with a value is deleted from the workspaces that have it, and projects keep it', async () => {
  const organization = await createOrganization(app, owner)
  const create = { organization: organization.name, actor: owner.actor }
  const project = await createProject(app, create)
  const workspace = await createWorkspace(app, { ...create, projectId: project.id })
  await send('PATCH', `projects/${project.id}/tag-bindings`, bindings({ env: 'prod' }))
  await send('PATCH', `workspaces/${workspace.id}/tag-bindings`, bindings({ env: 'a=b', team: 'core' }))
  const path = `organizations/${organization.name}/tag-values`
  const ids = async () => (await show(path)).map(({ id, attributes }: any) => [id, attributes.value])
  const [[id]] = await ids()

  const deleted = await send('DELETE', path, [{ type: 'tag-values', id }])
  const unknown = await send('DELETE', path, [{ type: 'tag-values', id: 'tag-0000000000000000=x' }])
  const refused = await send('DELETE', path, [{ type: 'tag-values', id }], (await createUser(app)).token)

  expect([deleted.status, unknown.status, refused.status]).toEqual([204, 422, 404])
  expect(unknown.json().errors[0].source.pointer).toBe('/data/0/id')
  expect(await bound(workspace.id)).toEqual({ team: 'core' })
  expect((await ids()).map(([, value]: [string, string]) => value)).toEqual(['prod', 'core'])
})
