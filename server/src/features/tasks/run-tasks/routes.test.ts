import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { hmac, type Received, startReceiver } from '../../../testing/receiver.ts'
import { attachTask, createTask, postTask } from '../../../testing/task-runs.ts'

const app = await createTestApp()

/** The receiver is on loopback: only site administrators may see its responses. */
async function setUp() {
  const user = await createUser(app, { isSiteAdmin: true })
  const { name, id } = await createOrganization(app, user)
  const receiver = await startReceiver()
  const workspace = await createWorkspace(app, { organization: name, actor: user.actor })
  return { user, organization: name, organizationId: id, receiver, workspaceId: workspace.id }
}

type Setting = Awaited<ReturnType<typeof setUp>>

const patchTask = async (setting: Setting, id: string, attributes: Record<string, unknown>) =>
  app.request({
    method: 'PATCH',
    url: `/api/v2/tasks/${id}`,
    token: setting.user.token,
    body: { data: { type: 'tasks', attributes } },
  })

describe('a task', () => {
  test('is created once its receiver has returned 200 to the verification request', async () => {
    const setting = await setUp()

    const response = await postTask(app, setting, {
      name: 'security',
      url: setting.receiver.url,
      description: 'asks security',
      'hmac-key': 'top-secret',
    })

    expect(response.status).toBe(201)
    const { data } = response.json()
    expect(data).toMatchObject({
      type: 'tasks',
      attributes: {
        name: 'security',
        url: setting.receiver.url,
        description: 'asks security',
        category: 'task',
        enabled: true,
        'hmac-key': null,
        'global-configuration': { enabled: false, stages: [], 'enforcement-level': 'advisory' },
      },
      relationships: {
        organization: { data: { id: setting.organization, type: 'organizations' } },
        'workspace-tasks': { data: [] },
        'agent-pool': { data: null },
      },
    })
    expect(data.id).toMatch(/^task-[1-9A-HJ-NP-Za-km-z]{16}$/)
    expect(response.text).not.toContain('top-secret')
    expect(setting.receiver.tests).toHaveLength(1)
  })

  test.each([
    [500, 'the response was 500: out of order'],
    [201, 'the response was 201'],
    [302, 'the response was 302'],
  ])('is rejected, with the reason, if the receiver returns %i', async (status, detail) => {
    const setting = await setUp()
    setting.receiver.onTest = (_, response) =>
      response.writeHead(status, { location: '/' }).end(status === 500 ? 'out of\norder' : '')

    const response = await postTask(app, setting, { url: setting.receiver.url })

    expect(response.status).toBe(422)
    expect(response.json().errors[0]).toMatchObject({ status: '422', source: { pointer: '/data/attributes/url' } })
    expect(response.json().errors[0].detail).toContain(detail)
  })

  test.each([
    ['name', { name: 'not a name' }],
    ['name', { name: '' }],
    ['url', { url: '' }],
    ['url', { url: 'ftp://receiver.example/' }],
    ['url', { url: 'not a url' }],
    ['category', { category: 'policy' }],
    ['description', { description: 'x'.repeat(301) }],
    ['global-configuration/stages/0', { 'global-configuration': { stages: ['never'] } }],
    ['ca-certificate', { 'ca-certificate': 'not PEM' }],
  ])('with an invalid %s is rejected with a pointer', async (pointer, attributes) => {
    const setting = await setUp()

    const response = await postTask(app, setting, { url: setting.receiver.url, ...attributes })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(`/data/attributes/${pointer}`)
    expect(setting.receiver.tests).toHaveLength(0)
  })

  test('has a unique name in the organization', async () => {
    const setting = await setUp()
    await createTask(app, setting, { name: 'cost' })

    const again = await postTask(app, setting, { name: 'Cost', url: setting.receiver.url })

    expect(again.status).toBe(422)
    expect(again.json().errors[0].source.pointer).toBe('/data/attributes/name')
    expect(setting.receiver.tests).toHaveLength(1)
  })

  test('does not contact its receiver if the name is taken', async () => {
    const setting = await setUp()
    await createTask(app, setting, { name: 'cost' })
    const id = await createTask(app, setting, { name: 'security' })

    const refused = await patchTask(setting, id, { name: 'COST', 'hmac-key': 'new' })
    const renamed = await patchTask(setting, id, { name: 'Security', 'hmac-key': 'new' })

    expect([refused.status, renamed.status]).toEqual([422, 200])
    expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/name')
    expect(setting.receiver.tests).toHaveLength(3)
  })

  test('is verified again when its URL or key changes, and not otherwise', async () => {
    const setting = await setUp()
    const id = await createTask(app, setting)
    const verified = () => setting.receiver.tests.length

    await patchTask(setting, id, { description: 'new', enabled: false, url: setting.receiver.url })
    expect(verified()).toBe(1)
    await patchTask(setting, id, { url: `${setting.receiver.url}/other` })
    expect(verified()).toBe(2)
    await patchTask(setting, id, { 'hmac-key': 'key' })
    expect(verified()).toBe(3)
    await patchTask(setting, id, { 'hmac-key': 'key' })

    expect(verified()).toBe(3)
    const { body, headers } = setting.receiver.tests[2] as Received
    expect(headers['x-tfc-task-signature']).toBe(hmac(body, 'key'))
  })

  test.each([
    ['url', (url: string) => ({ url: `${url}/gone`, 'hmac-key': 'other' })],
    ['hmac-key', () => ({ 'hmac-key': 'other' })],
    ['hmac-key', () => ({ 'hmac-key': 7 })],
  ])('is rejected with a pointer to the attribute at fault: %s', async (name, attributes) => {
    const setting = await setUp()
    const id = await createTask(app, setting)
    setting.receiver.onTest = (_, response) => response.writeHead(401).end()

    const response = await patchTask(setting, id, attributes(setting.receiver.url))

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe(`/data/attributes/${name}`)
  })

  test.each([
    ['javascript:1', 'javascript:'],
    ['ftp://files.example/', 'ftp://'],
  ])('names the expected prefix of its URL: %s', async (url, start) => {
    const response = await postTask(app, await setUp(), { url })

    expect(response.json().errors[0].detail).toBe(
      `the URL begins with ${start}; it must begin with https:// or http://`,
    )
  })

  test('is unchanged if the new URL is rejected', async () => {
    const setting = await setUp()
    const id = await createTask(app, setting)
    setting.receiver.onTest = (_, response) => response.writeHead(404).end()

    expect((await patchTask(setting, id, { url: `${setting.receiver.url}/gone` })).status).toBe(422)

    const shown = await app.request({ url: `/api/v2/tasks/${id}`, token: setting.user.token })
    expect(shown.json().data.attributes.url).toBe(setting.receiver.url)
  })

  test('that becomes global has stages in the requested order, and a level', async () => {
    const setting = await setUp()
    const id = await createTask(app, setting)

    const configuration = { enabled: true, stages: ['post_plan', 'pre_plan'], 'enforcement-level': 'mandatory' }
    const response = await patchTask(setting, id, { 'global-configuration': configuration })
    const off = await patchTask(setting, id, { 'global-configuration': { enabled: false } })

    expect(response.json().data.attributes['global-configuration']).toEqual({
      enabled: true,
      stages: ['post_plan', 'pre_plan'],
      'enforcement-level': 'mandatory',
    })
    expect(off.json().data.attributes['global-configuration']).toMatchObject({ enabled: false })
  })

  test('is listed in pages by name, with where it is attached', async () => {
    const setting = await setUp()
    await createTask(app, setting, { name: 'b' })
    const first = await createTask(app, setting, { name: 'a' })
    const attached = (await attachTask(app, setting, { task: first })).json().data.id

    const response = await app.request({
      url: `/api/v2/organizations/${setting.organization}/tasks?page[size]=1&include=workspace_tasks,workspace_tasks.workspace`,
      token: setting.user.token,
    })

    const { data, included, meta } = response.json()
    expect(data.map((task: any) => task.attributes.name)).toEqual(['a'])
    expect(data[0].relationships['workspace-tasks'].data).toEqual([{ id: attached, type: 'workspace-tasks' }])
    expect(included.map(({ id }: any) => id)).toEqual([attached, setting.workspaceId])
    expect(meta.pagination['total-count']).toBe(2)
  })

  test('is found by part of its name or URL', async () => {
    const setting = await setUp()
    for (const name of ['policy', 'costs', 'Costs-EU']) await createTask(app, setting, { name })
    const names = async (q: string) => {
      const url = `/api/v2/organizations/${setting.organization}/tasks?q=${q}`
      const { data, meta } = (await app.request({ url, token: setting.user.token })).json()
      expect(meta.pagination['total-count']).toBe(data.length)
      return data.map(({ attributes }: any) => attributes.name)
    }

    expect(await names('cost')).toEqual(expect.arrayContaining(['costs', 'Costs-EU']))
    expect(await names('cost')).toHaveLength(2)
    expect(await names(encodeURIComponent(new URL(setting.receiver.url).host))).toHaveLength(3)
    expect(await names('%25')).toEqual([])
  })

  test('can be deleted once it is detached from all workspaces', async () => {
    const setting = await setUp()
    const id = await createTask(app, setting)
    const attached = (await attachTask(app, setting, { task: id })).json().data.id
    const remove = (url: string) => app.request({ method: 'DELETE', url, token: setting.user.token })

    expect((await remove(`/api/v2/tasks/${id}`)).status).toBe(409)
    expect((await remove(`/api/v2/workspaces/${setting.workspaceId}/tasks/${attached}`)).status).toBe(204)
    expect((await remove(`/api/v2/tasks/${id}`)).status).toBe(204)

    expect((await app.request({ url: `/api/v2/tasks/${id}`, token: setting.user.token })).status).toBe(404)
  })

  test('of another organization does not exist', async () => {
    const setting = await setUp()
    const stranger = await createUser(app)
    const id = await createTask(app, setting)

    const found = await app.request({ url: `/api/v2/tasks/${id}`, token: stranger.token })
    const listed = await app.request({
      url: `/api/v2/organizations/${setting.organization}/tasks`,
      token: stranger.token,
    })

    expect(found.status).toBe(404)
    expect(listed.status).toBe(404)
  })
})

describe('the test of a task', () => {
  test('shows the exchange and the expected signature', async () => {
    const setting = await setUp()
    const id = await createTask(app, setting, { 'hmac-key': 'key' })
    setting.receiver.onTest = (_, response) => response.writeHead(503, { 'x-why': 'tired' }).end('later')

    const response = await app.request({
      method: 'POST',
      url: `/api/v2/tasks/${id}/actions/test`,
      token: setting.user.token,
    })

    expect(response.status).toBe(200)
    const { attributes } = response.json().data
    expect(attributes).toMatchObject({
      passed: false,
      summary: 'the response was 503: later',
      response: { status: 503, body: 'later', headers: { 'x-why': 'tired' } },
      error: null,
    })
    expect(attributes.request.body).toBe(setting.receiver.tests[1]?.body)
    expect(attributes['expected-signature']).toBe(hmac(attributes.request.body, 'key'))
    expect(response.text).not.toContain('"key"')
  })
})

describe('a response from a private address', () => {
  test('is shown to site administrators only, apart from its status: neither by a test nor by an error', async () => {
    const setting = await setUp()
    const owner = await createUser(app)
    const organization = (await createOrganization(app, owner)).name
    const id = await createTask(app, { ...setting, user: owner, organization })
    setting.receiver.onTest = (_, response) => response.writeHead(503, { 'x-why': 'tired' }).end('later')

    const tested = await app.request({ method: 'POST', url: `/api/v2/tasks/${id}/actions/test`, token: owner.token })
    const refused = await postTask(app, { user: owner, organization }, { url: setting.receiver.url })

    expect(tested.json().data.attributes).toMatchObject({
      passed: false,
      summary: 'the response was 503',
      response: { status: 503, headers: {}, body: '', 'is-withheld': true },
      error: null,
    })
    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].detail).toMatch(/must return 200: the response was 503$/)
  })
})

describe('a workspace task', () => {
  test('attaches a task at its stages in the requested order', async () => {
    const setting = await setUp()
    const task = await createTask(app, setting)

    const response = await attachTask(app, setting, {
      task,
      stages: ['post_apply', 'pre_plan', 'post_apply'],
      'enforcement-level': 'advisory',
    })

    expect(response.status).toBe(201)
    const { id, attributes, relationships } = response.json().data
    expect(id).toMatch(/^wstask-/)
    expect(attributes).toMatchObject({
      'enforcement-level': 'advisory',
      stage: 'post_apply',
      stages: ['post_apply', 'pre_plan'],
    })
    expect(relationships).toMatchObject({
      task: { data: { id: task, type: 'tasks' } },
      workspace: { data: { id: setting.workspaceId, type: 'workspaces' } },
    })
  })

  test('runs after the plan by default, and accepts the older attribute', async () => {
    const setting = await setUp()
    const task = await createTask(app, setting)

    const { id, attributes } = (await attachTask(app, setting, { task })).json().data
    const url = `/api/v2/workspaces/${setting.workspaceId}/tasks/${id}`
    const changed = await app.request({
      method: 'PATCH',
      url,
      token: setting.user.token,
      body: { data: { type: 'workspace-tasks', attributes: { stage: 'pre_apply' } } },
    })

    expect(attributes.stages).toEqual(['post_plan'])
    expect(changed.json().data.attributes).toMatchObject({ stages: ['pre_apply'], 'enforcement-level': 'mandatory' })
    expect((await app.request({ url, token: setting.user.token })).json().data.attributes.stage).toBe('pre_apply')
  })

  test('is rejected for a task of another organization, and twice for the same', async () => {
    const setting = await setUp()
    const other = await setUp()
    const task = await createTask(app, setting)
    await attachTask(app, setting, { task })

    expect((await attachTask(app, setting, { task })).status).toBe(422)
    const foreign = await attachTask(app, setting, { task: await createTask(app, other) })
    expect(foreign.status).toBe(422)
    expect(foreign.json().errors[0].source.pointer).toBe('/data/relationships/task/data/id')
  })

  test('is listed for its workspace and for its task', async () => {
    const setting = await setUp()
    const task = await createTask(app, setting)
    const { id } = (await attachTask(app, setting, { task })).json().data
    const ids = async (url: string) =>
      (await app.request({ url, token: setting.user.token })).json().data.map((row: any) => row.id)

    expect(await ids(`/api/v2/workspaces/${setting.workspaceId}/tasks`)).toEqual([id])
    expect(await ids(`/api/v2/tasks/${task}/relationships/workspace-tasks`)).toEqual([id])
  })

  test('is listed for its task by workspace, page by page, with searches and the workspaces included', async () => {
    const setting = await setUp()
    const task = await createTask(app, setting)
    const add = async (name: string) => {
      const actor = setting.user.actor
      const { id } = await createWorkspace(app, { organization: setting.organization, actor, attributes: { name } })
      await attachTask(app, { ...setting, workspaceId: id }, { task })
      return id
    }
    const web = await add('web')
    await add('api')
    await add('web-eu')
    const list = async (query: string) => {
      const url = `/api/v2/tasks/${task}/relationships/workspace-tasks?include=workspace&${query}`
      const { data, included, meta } = (await app.request({ url, token: setting.user.token })).json()
      const nameOf = (id: string) => included.find((row: { id: string }) => row.id === id).attributes.name
      const names = data.map(({ relationships }: any) => nameOf(relationships.workspace.data.id))
      return { names, total: meta.pagination['total-count'] }
    }

    expect(await list('sort=workspace-name&page[size]=2')).toEqual({ names: ['api', 'web'], total: 3 })
    expect(await list('sort=-workspace-name')).toEqual({ names: ['web-eu', 'web', 'api'], total: 3 })
    expect(await list('q=WEB&sort=created-at')).toEqual({ names: ['web', 'web-eu'], total: 2 })
    expect(await list(`filter[workspace][id]=${web},ws-nothing`)).toEqual({ names: ['web'], total: 1 })
  })
})
