import { beforeEach, describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../../testing/factories.ts'
import { connect, postTrigger } from './testing/triggers.ts'

const app = await createTestApp()
const user = await createUser(app)
const acme = await createOrganization(app, user)
const SOURCE = '/data/relationships/sourceable/data/id'

const add = async (actor = user, organization = acme.name) => {
  const workspace = await createWorkspace(app, { organization, actor: actor.actor })
  return { user: actor, workspaceId: workspace.id, name: workspace.name }
}
type Added = Awaited<ReturnType<typeof add>>

let network: Added
let web: Added
beforeEach(async () => {
  network = await add()
  web = await add()
})

/** A user whose team has this access to workspaces. */
async function personWith(access: Record<string, 'read' | 'write' | 'admin'>): Promise<TestUser> {
  const person = await createUser(app)
  await createTeamWithAccess(app, { organizationId: acme.id, members: [person], workspaces: access })
  return person
}

function read(url: string, token = user.token) {
  return app.request({ url: `/api/v2${url}`, token })
}

function list(workspace: Added, query: string, token = user.token) {
  return read(`/workspaces/${workspace.workspaceId}/run-triggers${query}`, token)
}

const INBOUND = '?filter[run-trigger][type]=inbound'
const OUTBOUND = '?filter[run-trigger][type]=outbound'

describe('a run trigger', () => {
  test('has all its fields when created and when shown', async () => {
    const response = await postTrigger(app, web, { sourceId: network.workspaceId })

    expect(response.status).toBe(201)
    const { data } = response.json()
    expect(data).toEqual({
      id: expect.stringMatching(/^rt-[1-9A-HJ-NP-Za-km-z]{16}$/),
      type: 'run-triggers',
      attributes: {
        'workspace-name': web.name,
        'sourceable-name': network.name,
        'created-at': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
        'last-fired-at': null,
      },
      relationships: {
        workspace: { data: { id: web.workspaceId, type: 'workspaces' } },
        sourceable: { data: { id: network.workspaceId, type: 'workspaces' } },
      },
      links: { self: `/api/v2/run-triggers/${data.id}` },
    })
    expect((await read(`/run-triggers/${data.id}`)).json().data).toEqual(data)
  })

  test.each([
    ['without a type', {}],
    ['with members that clients add', { type: 'run-triggers', attributes: {}, id: '' }],
  ])('can be created with a body %s', async (_, members) => {
    const sourceable = { data: { type: 'workspaces', id: network.workspaceId } }
    const relationships = { sourceable, 'sourceable-choice': { data: null } }

    const response = await postTrigger(app, web, { body: { data: { ...members, relationships } } })

    expect(response.status).toBe(201)
  })

  test('shows the current names of its workspaces', async () => {
    const id = await connect(app, network, web)
    const body = { data: { type: 'workspaces', attributes: { name: `${network.name}-renamed` } } }
    await app.request({ method: 'PATCH', url: `/api/v2/workspaces/${network.workspaceId}`, token: user.token, body })

    const { data } = (await read(`/run-triggers/${id}`)).json()

    expect(data.attributes['sourceable-name']).toBe(`${network.name}-renamed`)
  })

  test('can be deleted', async () => {
    const id = await connect(app, network, web)

    const response = await app.request({ method: 'DELETE', url: `/api/v2/run-triggers/${id}`, token: user.token })

    expect(response.status).toBe(204)
    expect(response.text).toBe('')
    expect((await read(`/run-triggers/${id}`)).status).toBe(404)
    const again = await app.request({ method: 'DELETE', url: `/api/v2/run-triggers/${id}`, token: user.token })
    expect(again.status).toBe(404)
  })

  test('is deleted with either of its workspaces', async () => {
    const db = await add()
    const ids = [await connect(app, network, web), await connect(app, web, db)]

    await app.request({ method: 'DELETE', url: `/api/v2/workspaces/${web.workspaceId}`, token: user.token })

    expect(await Promise.all(ids.map(async (id) => (await read(`/run-triggers/${id}`)).status))).toEqual([404, 404])
    expect((await list(db, INBOUND)).json().data).toEqual([])
  })
})

describe('a list', () => {
  test('has the inbound or the outbound triggers in order of creation, with links and pagination', async () => {
    const dns = await add()
    const first = await connect(app, network, web)
    const second = await connect(app, dns, web)
    await connect(app, web, network)

    const inbound = (await list(web, INBOUND)).json()
    const outbound = (await list(dns, OUTBOUND)).json()

    expect(inbound.data.map(({ id }: any) => id)).toEqual([first, second])
    expect(inbound.meta.pagination).toMatchObject({ 'current-page': 1, 'page-size': 20, 'total-count': 2 })
    expect(Object.keys(inbound.links)).toEqual(['self', 'first', 'prev', 'next', 'last'])
    expect(outbound.data.map(({ id }: any) => id)).toEqual([second])
  })

  test('is read page by page', async () => {
    const [dns, db] = [await add(), await add()]
    for (const source of [network, dns, db]) await connect(app, source, web)

    const last = (await list(web, `${INBOUND}&page[number]=2&page[size]=2`)).json()
    const beyond = (await list(web, `${INBOUND}&page[number]=9&page[size]=2`)).json()

    expect(last.data.map((trigger: any) => trigger.attributes['sourceable-name'])).toEqual([db.name])
    expect(last.meta.pagination).toMatchObject({ 'current-page': 2, 'total-pages': 2, 'total-count': 3 })
    expect(beyond.data).toEqual([])
    expect(beyond.meta.pagination).toMatchObject({ 'current-page': 9, 'total-count': 3 })
  })

  test.each(['', '?filter[run-trigger][type]=', '?filter[run-trigger][type]=both', '?filter[run-trigger]=inbound'])(
    'with the query %j is a bad request that names the parameter',
    async (query) => {
      const response = await list(web, query)

      expect(response.status).toBe(400)
      expect(response.json().errors[0].source).toEqual({ parameter: 'filter[run-trigger][type]' })
    },
  )
})

describe('an include', () => {
  test.each(['workspace', 'sourceable'])('of %s includes the whole workspace', async (include) => {
    const id = await connect(app, network, web)
    const expected = include === 'workspace' ? web : network

    const shown = (await read(`/run-triggers/${id}?include=${include}`)).json()
    const listed = (await list(web, `${INBOUND}&include=${include}`)).json()

    for (const { included } of [shown, listed]) {
      expect(included).toHaveLength(1)
      expect(included[0]).toMatchObject({
        id: expected.workspaceId,
        attributes: { name: expected.name, locked: false },
      })
    }
  })

  test('of a workspace that the caller may not read is left out', async () => {
    const id = await connect(app, network, web)
    const reader = await personWith({ [web.workspaceId]: 'read' })

    const response = await read(`/run-triggers/${id}?include=workspace,sourceable`, reader.token)

    expect(response.status).toBe(200)
    expect(response.json().included.map((workspace: any) => workspace.id)).toEqual([web.workspaceId])
  })

  test('of anything else is a bad request', async () => {
    const id = await connect(app, network, web)

    expect((await read(`/run-triggers/${id}?include=runs`)).status).toBe(400)
  })
})

describe('permission to', () => {
  test('create: an administrator of the workspace who reads runs of the source', async () => {
    const { token } = await personWith({ [web.workspaceId]: 'admin', [network.workspaceId]: 'read' })

    expect((await postTrigger(app, web, { sourceId: network.workspaceId, token })).status).toBe(201)
  })

  test('not create: a user with write access only', async () => {
    const { token } = await personWith({ [web.workspaceId]: 'write', [network.workspaceId]: 'admin' })

    expect((await postTrigger(app, web, { sourceId: network.workspaceId, token })).status).toBe(404)
  })

  test('not create: an administrator who does not see the source', async () => {
    const { token } = await personWith({ [web.workspaceId]: 'admin' })

    const hidden = await postTrigger(app, web, { sourceId: network.workspaceId, token })
    const unknown = await postTrigger(app, web, { sourceId: 'ws-doesnotexist', token })

    expect(hidden.status).toBe(404)
    expect(hidden.json().errors).toEqual(unknown.json().errors)
    expect(hidden.json().errors[0].source).toEqual({ pointer: SOURCE })
  })

  test('show: only users who may read the runs of either workspace', async () => {
    const id = await connect(app, network, web)
    const readers = [
      await personWith({ [web.workspaceId]: 'read' }),
      await personWith({ [network.workspaceId]: 'read' }),
    ]
    const other = await personWith({ [(await add()).workspaceId]: 'admin' })

    for (const { token } of readers) expect((await read(`/run-triggers/${id}`, token)).status).toBe(200)
    expect((await read(`/run-triggers/${id}`, other.token)).status).toBe(404)
  })

  test('delete: an administrator of the destination, not of the source', async () => {
    const id = await connect(app, network, web)
    const remove = async ({ token }: TestUser) =>
      (await app.request({ method: 'DELETE', url: `/api/v2/run-triggers/${id}`, token })).status

    expect(await remove(await personWith({ [web.workspaceId]: 'write', [network.workspaceId]: 'admin' }))).toBe(404)
    expect(await remove(await personWith({ [web.workspaceId]: 'admin' }))).toBe(204)
  })

  test('list: users who may read the runs of the workspace', async () => {
    const { token } = await personWith({ [web.workspaceId]: 'read' })

    expect((await list(web, INBOUND, token)).status).toBe(200)
    expect((await list(network, OUTBOUND, token)).status).toBe(404)
  })
})

describe('a body is rejected', () => {
  test('when the source is the workspace itself', async () => {
    const response = await postTrigger(app, web, { sourceId: web.workspaceId })

    expect(response.status).toBe(422)
    expect(response.json().errors[0]).toMatchObject({
      detail: expect.stringContaining(web.name),
      source: { pointer: SOURCE },
    })
  })

  test('when the trigger exists', async () => {
    await connect(app, network, web)

    const response = await postTrigger(app, web, { sourceId: network.workspaceId })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toBe(`the workspace ${network.name} triggers ${web.name} already`)
  })

  test('when the source belongs to another organization: not found, with the reason for callers who may read it', async () => {
    const elsewhere = await add(user, (await createOrganization(app, user)).name)
    const stranger = await createUser(app)
    const hidden = await add(stranger, (await createOrganization(app, stranger)).name)

    const responses = [
      await postTrigger(app, web, { sourceId: elsewhere.workspaceId }),
      await postTrigger(app, web, { sourceId: hidden.workspaceId }),
    ]

    expect(responses.map(({ status }) => status)).toEqual([404, 404])
    expect(responses.map((response) => response.json().errors[0].detail)).toEqual([
      `the workspace ${elsewhere.name} is in another organization than ${web.name}: a run trigger connects workspaces of one organization`,
      'workspace not found, or you are not authorized to see it',
    ])
  })

  test('when it would be the 21st source, also in concurrent requests', async () => {
    const sources = await Promise.all(Array.from({ length: 22 }, async () => add()))

    const responses = await Promise.all(
      sources.map(async ({ workspaceId }) => postTrigger(app, web, { sourceId: workspaceId })),
    )

    const refused = responses.filter(({ status }) => status === 422)
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(20)
    expect(refused).toHaveLength(2)
    expect(refused[0]?.json().errors[0].detail).toContain('at most 20')
  })

  test('when it is one of two equal concurrent requests', async () => {
    const responses = await Promise.all(
      [1, 2, 3].map(async () => postTrigger(app, web, { sourceId: network.workspaceId })),
    )

    expect(responses.map(({ status }) => `${status}`).toSorted()).toEqual(['201', '422', '422'])
  })

  test.each([
    ['no body', '', ''],
    ['no data', {}, '/data'],
    ['no relationships', { data: { type: 'run-triggers' } }, '/data/relationships/sourceable'],
    ['no source', { data: { relationships: {} } }, '/data/relationships/sourceable'],
    ['no id', source({ type: 'workspaces' }), SOURCE],
    ['an empty id', source({ type: 'workspaces', id: '' }), SOURCE],
    ['an id that is not a string', source({ type: 'workspaces', id: 7 }), SOURCE],
    ['no type of the source', source({ id: 'ws-1' }), '/data/relationships/sourceable/data/type'],
    ['a wrong type of the source', source({ type: 'runs', id: 'ws-1' }), '/data/relationships/sourceable/data/type'],
    ['a wrong type', { data: { ...source({ type: 'workspaces', id: 'ws-1' }).data, type: 'runs' } }, '/data/type'],
  ])('when it has %s', async (_, body, pointer) => {
    const response = await postTrigger(app, web, { body })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(pointer)
  })
})

function source(data: object) {
  return { data: { relationships: { sourceable: { data } } } }
}

describe('the list of an organization', () => {
  const listAll = async (query = '', token = user.token) => {
    const { data, meta } = (await read(`/organizations/${acme.name}/run-triggers${query}`, token)).json()
    const pairs = data.map(({ attributes }: any) => `${attributes['sourceable-name']}>${attributes['workspace-name']}`)
    return { data, pairs, total: meta.pagination['total-count'] }
  }

  test('is searched, sorted and read page by page', async () => {
    await connect(app, network, web)
    await connect(app, web, network)
    const q = `?q=${web.name}`

    const sources = [`${network.name}>${web.name}`, `${web.name}>${network.name}`].toSorted()
    expect(await listAll(q)).toMatchObject({ pairs: sources, total: 2 })
    expect((await listAll(`${q}&sort=-source`)).pairs).toEqual(sources.toReversed())
    expect((await listAll(`${q}&page[size]=1&page[number]=2`)).pairs).toEqual(sources.slice(1))
    expect((await listAll(`?filter[project][id]=prj-nothing`)).total).toBe(0)
  })

  test('has the triggers between workspaces that the caller sees, and what the caller may delete', async () => {
    const hidden = await add()
    const id = await connect(app, network, web)
    await connect(app, hidden, web)
    await connect(app, web, hidden)
    const reader = await personWith({ [network.workspaceId]: 'read', [web.workspaceId]: 'read' })
    const admin = await personWith({ [network.workspaceId]: 'read', [web.workspaceId]: 'admin' })

    const [forReader, forAdmin] = [await listAll('', reader.token), await listAll('', admin.token)]

    expect(forReader).toMatchObject({
      data: [{ id, attributes: { permissions: { 'can-destroy': false } } }],
      total: 1,
    })
    expect(forAdmin).toMatchObject({ data: [{ id, attributes: { permissions: { 'can-destroy': true } } }], total: 1 })
  })
})

test('workspaces may trigger each other', async () => {
  const responses = await Promise.all([
    postTrigger(app, web, { sourceId: network.workspaceId }),
    postTrigger(app, network, { sourceId: web.workspaceId }),
  ])

  expect(responses.map(({ status }) => status)).toEqual([201, 201])
})

test('by default a workspace ignores whether outputs changed', async () => {
  const settings = { 'auto-apply-run-trigger': true, 'trigger-only-on-output-change': true }
  const change = async (attributes: object) => {
    const body = { data: { type: 'workspaces', attributes } }
    const response = await app.request({
      method: 'PATCH',
      url: `/api/v2/workspaces/${web.workspaceId}`,
      token: user.token,
      body,
    })
    return response.json().data.attributes
  }

  const before = (await read(`/workspaces/${web.workspaceId}`)).json().data.attributes

  expect(before).toMatchObject({ 'auto-apply-run-trigger': false, 'trigger-only-on-output-change': false })
  expect(await change(settings)).toMatchObject(settings)
  expect(await change({ 'trigger-only-on-output-change': null })).toMatchObject({
    'trigger-only-on-output-change': false,
  })
})
