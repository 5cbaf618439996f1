import { beforeAll, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../../testing/factories.ts'
import { lockedWorkspace, rawState, type StateClient, stateClient, upload } from '../../../testing/state-versions.ts'

let app: TestApp
let ada: TestUser
let organization: string

beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app)
  organization = (await createOrganization(app, ada)).name
})

describe('the current state version', () => {
  test('is not found while there is none', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    const answer = await workspace.current()

    expect(answer.status).toBe(404)
  })

  test('is not found in a workspace that does not exist or may not be seen', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())
    const stranger = await createUser(app)

    expect((await stateClient(app, { id: 'ws-nothing', name: '' }, ada.token).current()).status).toBe(404)
    expect((await stateClient(app, workspace, stranger.token).current()).status).toBe(404)
    expect((await stateClient(app, workspace, stranger.token).request('GET', `/state-versions/${id}`)).status).toBe(404)
  })

  test('carries the interval of snapshots', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())

    for (const path of [`/workspaces/${workspace.id}/current-state-version`, `/state-versions/${id}`]) {
      expect((await workspace.request('GET', path)).headers['x-terraform-snapshot-interval']).toMatch(/^\d+$/)
    }
  })

  test('is read by an organization token', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    await workspace.create(rawState())
    const { createOrganizationToken } = await import('../../organizations/organization-tokens/manage.ts')
    const { text } = await createOrganizationToken(app.as(ada.actor), organization, { kind: 'organization' })

    expect((await stateClient(app, workspace, text).current()).status).toBe(200)
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

  test('has the newest first, twenty to a page, with links and meta', async () => {
    const answer = (await list()).json()

    expect(answer.data.map((version: any) => version.id)).toEqual(ids.slice(0, 20))
    expect(answer.meta.pagination).toEqual({
      'current-page': 1,
      'page-size': 20,
      'prev-page': null,
      'next-page': 2,
      'total-pages': 2,
      'total-count': 25,
    })
    expect(Object.keys(answer.links)).toEqual(['self', 'first', 'prev', 'next', 'last'])
    expect((await app.request({ url: answer.links.next, token: ada.token })).json().data).toHaveLength(5)
  })

  test('takes a page number and size', async () => {
    const answer = (await list('&page%5Bnumber%5D=3&page%5Bsize%5D=7')).json()

    expect(answer.data.map((version: any) => version.id)).toEqual(ids.slice(14, 21))
  })

  test('is empty beyond its end, and has the page that was asked for', async () => {
    const answer = await list('&page%5Bnumber%5D=99')

    expect(answer.status).toBe(200)
    expect(answer.json().data).toEqual([])
    expect(answer.json().meta.pagination).toMatchObject({ 'current-page': 99, 'total-count': 25 })
  })

  test.each([
    ['pending', 1],
    ['finalized', 23],
    ['discarded', 1],
  ])('narrows to %s', async (status, count) => {
    const answer = (await list(`&filter%5Bstatus%5D=${status}`)).json()

    expect(answer.meta.pagination['total-count']).toBe(count)
    expect(new Set(answer.data.map((version: any) => version.attributes.status))).toEqual(new Set([status]))
  })

  test('refuses another status', async () => {
    const answer = await list('&filter%5Bstatus%5D=gone')

    expect(answer.status).toBe(422)
    expect(answer.json().errors[0].source.parameter).toBe('filter[status]')
  })

  test.each([
    ['filter%5Borganization%5D%5Bname%5D=x', 'filter[workspace][name]'],
    ['filter%5Bworkspace%5D%5Bname%5D=x', 'filter[organization][name]'],
  ])('needs both filters: %s', async (query, missing) => {
    const answer = await workspace.request('GET', `/state-versions?${query}`)

    expect(answer.status).toBe(422)
    expect(answer.json().errors[0].source.parameter).toBe(missing)
  })

  test('of a workspace that does not exist or may not be seen is not found', async () => {
    const stranger = await createUser(app)

    expect((await workspace.request('GET', `/state-versions?${filters('nothing')}`)).status).toBe(404)
    const answer = await app.request({
      url: `/api/v2/state-versions?${filters(workspace.name)}`,
      token: stranger.token,
    })
    expect(answer.status).toBe(404)
  })

  test('does not count versions of other workspaces', async () => {
    const other = await createWorkspace(app, { organization })

    const answer = (await workspace.request('GET', `/state-versions?${filters(other.name)}`)).json()

    expect(answer).toMatchObject({ data: [], meta: { pagination: { 'total-count': 0, 'total-pages': 1 } } })
  })
})

describe('include', () => {
  test('adds the user who created the version, and its outputs', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs: { region: 'eu' } }))

    for (const path of [`/workspaces/${workspace.id}/current-state-version`, `/state-versions/${id}`]) {
      const answer = (await workspace.request('GET', `${path}?include=created_by,outputs`)).json()
      expect(answer.included).toMatchObject([
        { id: ada.id, type: 'users', attributes: { username: ada.username } },
        { type: 'state-version-outputs', attributes: { name: 'region', value: 'eu' } },
      ])
    }
  })

  test('of something else is a bad request', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())

    const answer = await workspace.request('GET', `/state-versions/${id}?include=secrets`)

    expect(answer.status).toBe(400)
    expect(answer.json().errors[0].detail).toContain('Invalid include parameter')
  })
})

describe('outputs', () => {
  const outputs = {
    region: 'eu',
    zones: { value: ['a', 'b'], type: ['list', 'string'] },
    password: { value: 'hunter2', type: 'string', sensitive: true },
  }

  test('of the current state withhold sensitive values, all on one page', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    await workspace.create(rawState({ outputs }))

    const answer = (await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)).json()

    expect(answer.data.map((output: any) => output.attributes)).toEqual([
      { name: 'password', sensitive: true, type: 'string', 'detailed-type': 'string', value: null },
      { name: 'region', sensitive: false, type: 'string', 'detailed-type': 'string', value: 'eu' },
      { name: 'zones', sensitive: false, type: 'array', 'detailed-type': ['list', 'string'], value: ['a', 'b'] },
    ])
  })

  test('show a sensitive value one by one', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { relationships } = await workspace.create(rawState({ outputs }))

    const answer = await workspace.request('GET', `/state-version-outputs/${relationships.outputs.data[0].id}`)

    expect(answer.json().data).toMatchObject({
      type: 'state-version-outputs',
      attributes: { name: 'password', value: 'hunter2', sensitive: true },
    })
  })

  test('are an empty list while there is no state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    const answer = await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)

    expect(answer.status).toBe(200)
    expect(answer.json().data).toEqual([])
  })

  test('of a version come in pages', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs }))

    const answer = (await workspace.request('GET', `/state-versions/${id}/outputs?page%5Bsize%5D=2`)).json()

    expect(answer.data).toHaveLength(2)
    expect(answer.meta.pagination['total-count']).toBe(3)
  })

  test('are not found by a stranger', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id, relationships } = await workspace.create(rawState({ outputs }))
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    for (const path of [
      `/state-version-outputs/${relationships.outputs.data[0].id}`,
      `/state-versions/${id}/outputs`,
      `/workspaces/${workspace.id}/current-state-version-outputs`,
    ]) {
      expect((await stranger.request('GET', path)).status).toBe(404)
    }
  })

  test('of a version that is pending came along with it', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const raw = rawState({ outputs })
    const given = Buffer.from(JSON.stringify({ region: { sensitive: false, type: 'string', value: 'us' } }))
    const pending = await workspace.create(raw, { state: undefined, 'json-state-outputs': given.toString('base64') })

    await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    const answer = (await workspace.request('GET', `/state-versions/${pending.id}/outputs`)).json()
    expect(answer.data.map((output: any) => [output.attributes.name, output.attributes.value])).toEqual([
      ['password', 'hunter2'],
      ['region', 'us'],
      ['zones', ['a', 'b']],
    ])
  })

  test('are encrypted in the database', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ outputs }))

    const rows = await app.db
      .selectFrom('state_version_outputs')
      .select('value')
      .where('state_version_id', '=', id)
      .execute()
    const contents = await app.db
      .selectFrom('state_contents')
      .select('sealed')
      .where('state_version_id', '=', id)
      .execute()
    for (const bytes of [...rows.map((row) => row.value), ...contents.map((row) => row.sealed)]) {
      expect(bytes.includes('hunter2')).toBe(false)
    }
  })
})

describe('the resources of a workspace', () => {
  test('are the instances of its current state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState({ resources: ['web', 'db'] }))

    const answer = (await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json()

    expect(answer.data.map((resource: any) => resource.attributes)).toMatchObject([
      { address: 'terraform_data.db', name: 'db', 'provider-type': 'terraform_data', module: 'root' },
      { address: 'terraform_data.web', 'modified-by-state-version-id': id, 'name-index': null },
    ])
    const found = (await workspace.request('GET', `/workspaces/${workspace.id}/resources?q=web&sort=name:desc`)).json()
    expect(found.meta.pagination['total-count']).toBe(1)
  })

  test('are none without a state', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)

    expect((await workspace.request('GET', `/workspaces/${workspace.id}/resources`)).json().data).toEqual([])
  })
})

describe('the diff of two versions', () => {
  test('tells what changed since the version before, and masks what is sensitive', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const secret = (value: string) => ({ password: { value, type: 'string', sensitive: true } })
    const first = await workspace.create(rawState({ serial: 1, outputs: secret('hunter2'), resources: ['web'] }))
    await workspace.create(rawState({ serial: 2, outputs: secret('hunter2'), resources: ['web', 'cache'] }))
    const last = await workspace.create(rawState({ serial: 3, outputs: secret('swordfish'), resources: ['db'] }))

    const before = await workspace.request('GET', `/state-versions/${last.id}/diff`)
    const sinceFirst = await workspace.request('GET', `/state-versions/${last.id}/diff?from=${first.id}`)
    const cached = await workspace.request('GET', `/state-versions/${last.id}/diff?from=${first.id}`)

    expect(before.json().data.attributes.counts.resources).toEqual({ added: 1, changed: 0, removed: 2 })
    expect(sinceFirst.json().data.attributes.counts.resources).toEqual({ added: 1, changed: 0, removed: 1 })
    expect(sinceFirst.text).not.toMatch(/hunter2|swordfish/)
    expect(cached.json()).toEqual(sinceFirst.json())
    const beginning = await workspace.request('GET', `/state-versions/${first.id}/diff`)
    expect(beginning.json().data.attributes.counts.resources).toEqual({ added: 1, changed: 0, removed: 0 })
  })

  test('with a version of another workspace is not found', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const other = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())
    const foreign = await other.create(rawState())

    expect((await workspace.request('GET', `/state-versions/${id}/diff?from=${foreign.id}`)).status).toBe(404)
  })

  test('is a document that names both', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const first = await workspace.create(rawState({ serial: 1 }))
    const last = await workspace.create(rawState({ serial: 2, outputs: { a: 'b' } }))

    const { data } = (await workspace.request('GET', `/state-versions/${last.id}/diff`)).json()
    const beginning = (await workspace.request('GET', `/state-versions/${first.id}/diff`)).json().data

    const lineage = '8c6a3f0e-1f5c-4c2f-9d54-0d5c9f6f2a11'
    expect(data).toEqual({
      id: `${first.id}..${last.id}`,
      type: 'state-version-diffs',
      attributes: {
        from: { serial: 1, lineage, 'engine-version': '1.11.4' },
        to: { serial: 2, lineage, 'engine-version': '1.11.4' },
        counts: { resources: { added: 0, changed: 0, removed: 0 }, outputs: { added: 1, changed: 0, removed: 0 } },
        resources: [],
        outputs: [
          {
            name: 'a',
            action: 'added',
            sensitive: false,
            attributes: [{ path: '', action: 'added', sensitive: false, after: 'b' }],
          },
        ],
        truncated: false,
      },
      relationships: {
        from: { data: { id: first.id, type: 'state-versions' } },
        to: { data: { id: last.id, type: 'state-versions' } },
      },
    })
    expect(beginning.id).toBe(`none..${first.id}`)
    expect(beginning.attributes.from).toBeNull()
    expect(beginning.relationships.from.data).toBeNull()
  })

  test('takes no other parameter', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())

    const answer = await workspace.request('GET', `/state-versions/${id}/diff?to=${id}`)

    expect(answer.status).toBe(422)
    expect(answer.json().errors[0]).toMatchObject({ source: { parameter: 'to' } })
  })

  test('of an encrypted state says that it is encrypted', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const envelope = { serial: 1, lineage: 'l', meta: {}, encrypted_data: 'aGk=', encryption_version: 'v0' }
    const { id } = await workspace.create(Buffer.from(JSON.stringify(envelope)))

    const answer = await workspace.request('GET', `/state-versions/${id}/diff`)

    expect(answer.status).toBe(422)
    expect(answer.json().errors[0].detail).toBe(`${id} can't be compared: the state is encrypted`)
  })
})
