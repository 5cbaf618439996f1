import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import {
  createStateSetting,
  download,
  lockedWorkspace,
  rawState,
  type StateClient,
  stateClient,
  upload,
} from '../../../testing/state-versions.ts'
import { updateOrganization } from '../../organizations/organizations/store.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

async function newOrganization() {
  return (await createOrganization(app, ada)).name
}

describe('the current state version', () => {
  test('is not found if there is none', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    const response = await workspace.current()

    expect(response.status).toBe(404)
  })

  test('is not found in a missing or invisible workspace', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())
    const stranger = await createUser(app)

    expect((await stateClient(app, { id: 'ws-nothing', name: '' }, ada.token).current()).status).toBe(404)
    expect((await stateClient(app, workspace, stranger.token).current()).status).toBe(404)
    expect((await stateClient(app, workspace, stranger.token).request('GET', `/state-versions/${id}`)).status).toBe(404)
  })

  test('has the snapshot interval header', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())

    for (const path of [`/workspaces/${workspace.id}/current-state-version`, `/state-versions/${id}`]) {
      expect((await workspace.request('GET', path)).headers['x-terraform-snapshot-interval']).toMatch(/^\d+$/)
    }
  })

  test('can be read with an organization token', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    await workspace.create(rawState())
    const { createOrganizationToken } = await import('../../organizations/authentication-tokens/service.ts')
    const { text } = await createOrganizationToken(app.as(ada.actor), organization, { kind: 'organization' })

    expect((await stateClient(app, workspace, text).current()).status).toBe(200)
  })
})

describe('the download URLs', () => {
  test('work without a token, for ten minutes', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const pending = await workspace.create(rawState(), { state: undefined })
    const { attributes } = pending
    await upload(app, attributes['hosted-json-state-upload-url'], '{"format_version":"1.0"}')
    await upload(app, attributes['hosted-state-upload-url'], rawState())
    const shown = (await workspace.current()).json().data.attributes
    const urls = [shown['hosted-state-download-url'], shown['hosted-json-state-download-url']]
    const statuses = async () => Promise.all(urls.map(async (url) => (await download(app, url)).status))

    app.clock.advance(10 * 60_000 - 1000)
    const inTime = await statuses()
    app.clock.advance(1000)

    expect(inTime).toEqual([200, 200])
    expect(await statuses()).toEqual([404, 404])
  })
})

describe('the list of state versions', () => {
  let workspace: StateClient
  let ids: string[]

  beforeAll(async () => {
    workspace = await lockedWorkspace(app, organization, ada)
    ids = []
    for (let serial = 1; serial <= 23; serial++) ids.unshift((await workspace.create(rawState({ serial }))).id)
    ids.unshift((await workspace.create(rawState({ serial: 24 }), { state: undefined })).id)
    ids.unshift((await workspace.create(rawState({ serial: 25 }), { state: undefined })).id)
  })

  const filters = (name: string) =>
    `filter%5Borganization%5D%5Bname%5D=${organization}&filter%5Bworkspace%5D%5Bname%5D=${name}`
  const list = (query = '') => workspace.request('GET', `/state-versions?${filters(workspace.name)}${query}`)

  test('has the newest first, 20 per page, with links and meta', async () => {
    const response = (await list()).json()

    expect(response.data.map((version: any) => version.id)).toEqual(ids.slice(0, 20))
    expect(response.meta.pagination).toEqual({
      'current-page': 1,
      'page-size': 20,
      'prev-page': null,
      'next-page': 2,
      'total-pages': 2,
      'total-count': 25,
    })
    expect(Object.keys(response.links)).toEqual(['self', 'first', 'prev', 'next', 'last'])
    expect((await app.request({ url: response.links.next, token: ada.token })).json().data).toHaveLength(5)
  })

  test('accepts a page number and size', async () => {
    const response = (await list('&page%5Bnumber%5D=3&page%5Bsize%5D=7')).json()

    expect(response.data.map((version: any) => version.id)).toEqual(ids.slice(14, 21))
  })

  test('is empty beyond its end, with the requested page number', async () => {
    const response = await list('&page%5Bnumber%5D=99')

    expect(response.status).toBe(200)
    expect(response.json().data).toEqual([])
    expect(response.json().meta.pagination).toMatchObject({ 'current-page': 99, 'total-count': 25 })
  })

  test.each([
    ['pending', 1],
    ['finalized', 23],
    ['discarded', 1],
  ])('is filtered by %s', async (status, count) => {
    const response = (await list(`&filter%5Bstatus%5D=${status}`)).json()

    expect(response.meta.pagination['total-count']).toBe(count)
    expect(new Set(response.data.map((version: any) => version.attributes.status))).toEqual(new Set([status]))
  })

  test('rejects another status', async () => {
    const response = await list('&filter%5Bstatus%5D=gone')

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.parameter).toBe('filter[status]')
  })

  test.each([
    ['filter%5Borganization%5D%5Bname%5D=x', 'filter[workspace][name]'],
    ['filter%5Bworkspace%5D%5Bname%5D=x', 'filter[organization][name]'],
  ])('needs both filters: %s', async (query, missing) => {
    const response = await workspace.request('GET', `/state-versions?${query}`)

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.parameter).toBe(missing)
  })

  test('of a missing or invisible workspace is not found', async () => {
    const stranger = await createUser(app)

    expect((await workspace.request('GET', `/state-versions?${filters('nothing')}`)).status).toBe(404)
    const response = await app.request({
      url: `/api/v2/state-versions?${filters(workspace.name)}`,
      token: stranger.token,
    })
    expect(response.status).toBe(404)
  })

  test('does not count versions of other workspaces', async () => {
    const other = await createWorkspace(app, { organization })

    const response = (await workspace.request('GET', `/state-versions?${filters(other.name)}`)).json()

    expect(response).toMatchObject({ data: [], meta: { pagination: { 'total-count': 0, 'total-pages': 1 } } })
  })
})

describe('include', () => {
  test('adds the user who created the version, and its outputs', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs: { region: 'eu' } }))

    for (const path of [`/workspaces/${workspace.id}/current-state-version`, `/state-versions/${id}`]) {
      const response = (await workspace.request('GET', `${path}?include=created_by,outputs`)).json()
      expect(response.included).toMatchObject([
        { id: ada.id, type: 'users', attributes: { username: ada.username } },
        { type: 'state-version-outputs', attributes: { name: 'region', value: 'eu' } },
      ])
    }
  })

  test('of an unknown path is a bad request', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())

    const response = await workspace.request('GET', `/state-versions/${id}?include=secrets`)

    expect(response.status).toBe(400)
    expect(response.json().errors[0].detail).toContain('Invalid include parameter')
  })
})

test('the list of resources can be left out, but its count is always present', async () => {
  const { id } = await workspace.create(rawState({ serial: 1, resources: ['a', 'b'] }))
  const scope = `filter[organization][name]=${organization}&filter[workspace][name]=${workspace.name}`
  const responses = await Promise.all([
    workspace.request('GET', `/state-versions/${id}?without-resources=true`),
    workspace.request('GET', `/state-versions?${scope}&without-resources=true`),
    workspace.request('GET', `/state-versions/${id}`),
  ])

  const [one, list, whole] = responses.map((response) => response.json().data)
  expect([one.attributes.resources, one.attributes['resource-count']]).toEqual([[], 2])
  expect(list[0].attributes.resources).toEqual([])
  expect(whole.attributes.resources).toHaveLength(2)
})

test('billable resources are shown on a metered plan to members who may see usage', async () => {
  const organization = await newOrganization()
  const workspace = await lockedWorkspace(app, organization, ada)
  const { id, attributes } = await workspace.create(rawState({ resources: ['one'] }))
  expect(attributes).not.toHaveProperty('billable-rum-count')

  await app.db.updateTable('organizations').set({ plan: 'standard' }).where('name', '=', organization).execute()

  expect((await workspace.show(id)).attributes['billable-rum-count']).toBe(0)
  const { createOrganizationToken } = await import('../../organizations/authentication-tokens/service.ts')
  const { text } = await createOrganizationToken(app.as(ada.actor), organization, { kind: 'organization' })
  expect((await stateClient(app, workspace, text).show(id)).attributes).not.toHaveProperty('billable-rum-count')
})

test('a member who must enable two-factor authentication gets that error', async () => {
  const owner = await createUser(app)
  await app.db.updateTable('users').set({ auth_method: 'password' }).where('id', '=', owner.id).execute()
  const { id, name } = await createOrganization(app, owner)
  const client = await lockedWorkspace(app, name, owner)
  const version = await client.create(rawState({ serial: 1, outputs: { region: 'eu' } }))
  const [output] = version.relationships.outputs.data
  await updateOrganization(app.db, id, { collaborator_auth_policy: 'two_factor_mandatory' })
  const stranger = stateClient(app, client, (await createUser(app)).token)

  for (const path of [
    `/workspaces/${client.id}/current-state-version`,
    `/state-versions/${version.id}`,
    `/state-versions/${version.id}/outputs`,
    `/state-version-outputs/${output.id}`,
  ]) {
    const response = await client.request('GET', path)

    expect([path, response.status]).toEqual([path, 403])
    expect(response.json().errors[0].detail).toContain('two-factor')
    expect((await stranger.request('GET', path)).status).toBe(404)
  }
})

test('an included version is equal to one that is requested directly', async () => {
  await app.db.updateTable('organizations').set({ plan: 'standard' }).where('name', '=', organization).execute()
  const { id } = await workspace.create(rawState({ serial: 1, resources: ['one'] }), { state: undefined })
  const pending = await workspace.show(id)
  await upload(app, pending.attributes['hosted-state-upload-url'], rawState({ serial: 1, resources: ['one'] }))

  const { included } = (
    await workspace.request('GET', `/workspaces/${workspace.id}?include=current_state_version`)
  ).json()

  expect(included[0].attributes).toMatchObject({ 'billable-rum-count': 0 })
  expect(included[0].attributes['hosted-json-state-upload-url']).toContain('/_objects/')
  expect(Object.keys(included[0].attributes)).toEqual(Object.keys((await workspace.show(id)).attributes))
})

test('a list of workspaces includes the current version of each', async () => {
  const owner = await createUser(app)
  const { name } = await createOrganization(app, owner)
  const [first, second] = [await lockedWorkspace(app, name, owner), await lockedWorkspace(app, name, owner)]
  const versions = [await first.create(rawState()), await second.create(rawState())]
  await createWorkspace(app, { organization: name, actor: owner.actor })

  const response = await first.request('GET', `/organizations/${name}/workspaces?include=current_state_version`)

  const { data, included } = response.json()
  const named = data.map(({ relationships }: any) => relationships['current-state-version'].data?.id)
  expect(new Set(named)).toEqual(new Set([...versions.map(({ id }) => id), undefined]))
  expect(new Set(included.map(({ id }: any) => id))).toEqual(new Set(versions.map(({ id }) => id)))
  for (const { attributes } of included) expect(attributes['hosted-state-download-url']).toContain('/_objects/')
})

test('a list needs exactly one workspace', async () => {
  const names = `filter[workspace][name]=${workspace.name}&filter[workspace][name]=other`

  const response = await workspace.request('GET', `/state-versions?filter[organization][name]=${organization}&${names}`)

  expect(response.status).toBe(422)
  expect(response.json().errors).toMatchObject([
    {
      detail: 'filter[workspace][name] is given 2 times: it must name one',
      source: { parameter: 'filter[workspace][name]' },
    },
  ])
})
