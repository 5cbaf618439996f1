import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createOrganizationToken } from '../../organizations/organization-tokens/manage.ts'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../../testing/factories.ts'
import {
  download,
  lockedWorkspace,
  md5,
  rawState,
  type StateClient,
  stateClient,
  stateVersionBody,
} from '../../../testing/state-versions.ts'

let app: TestApp
let ada: TestUser
let organization: string
let workspace: StateClient

beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app)
  organization = (await createOrganization(app, ada)).name
})

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const raw = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['one', 'two'] })

describe('the answer to a version created with its content', () => {
  test('is 201 with the attributes of INTERFACE §4.1', async () => {
    const answer = await workspace.post(raw)

    expect(answer.status).toBe(201)
    expect(answer.headers['content-type']).toContain('application/vnd.api+json')
    expect(answer.headers['x-terraform-snapshot-interval']).toMatch(/^\d+$/)
    const { data } = answer.json()
    expect(data).toMatchObject({ id: expect.stringMatching(/^sv-\w{16}$/), type: 'state-versions' })
    expect(data.attributes).toEqual({
      'created-at': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      size: raw.length,
      'hosted-state-download-url': expect.stringMatching(/^http:\/\/groundstate\.test\/_objects\/v1\/object\//),
      'hosted-json-state-download-url': null,
      'hosted-state-upload-url': null,
      'hosted-json-state-upload-url': null,
      modules: { root: { 'terraform-data': 2 } },
      providers: { 'provider["terraform.io/builtin/terraform"]': { 'terraform-data': 2 } },
      resources: ['one', 'two'].map((name) => ({
        name,
        type: 'terraform_data',
        count: 1,
        module: 'root',
        provider: 'provider["terraform.io/builtin/terraform"]',
      })),
      'resources-processed': true,
      intermediate: false,
      serial: 3,
      'state-version': 4,
      status: 'finalized',
      'engine-version': '1.11.4',
      'terraform-version': '1.11.4',
    })
    expect(data.relationships).toEqual({
      run: { data: null },
      'created-by': {
        data: { id: ada.id, type: 'users' },
        links: { self: `/api/v2/users/${ada.id}`, related: `/api/v2/users/${ada.id}` },
      },
      workspace: { data: { id: workspace.id, type: 'workspaces' } },
      outputs: { data: [{ id: expect.stringMatching(/^wsout-\w{16}$/), type: 'state-version-outputs' }] },
    })
    expect(data.links).toEqual({ self: `/api/v2/state-versions/${data.id}` })
  })

  test('comes when the version is the current one already, byte for byte', async () => {
    const created = await workspace.create(raw)

    const current = (await workspace.current()).json().data
    expect(current.id).toBe(created.id)
    const content = await download(app, current.attributes['hosted-state-download-url'])
    expect(content.status).toBe(200)
    expect(content.bytes.equals(raw)).toBe(true)
  })

  test('comes when outputs and the count of resources can be read already', async () => {
    await workspace.create(raw)

    const outputs = (await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)).json()
    expect(outputs.data).toMatchObject([{ attributes: { name: 'region', value: 'eu', type: 'string' } }])
    const { attributes } = (await workspace.request('GET', `/workspaces/${workspace.id}`)).json().data
    expect(attributes['resource-count']).toBe(2)
  })

  test('has a JSON state to download when one came along', async () => {
    const json = Buffer.from('{"format_version":"1.0"}')

    const { attributes } = await workspace.create(raw, { 'json-state': json.toString('base64') })

    expect(attributes['hosted-json-state-upload-url']).toBeNull()
    expect((await download(app, attributes['hosted-json-state-download-url'])).bytes).toEqual(json)
  })

  test('has no JSON state to download for an engine older than 1.3', async () => {
    const old = Buffer.from(raw.toString().replace('"1.11.4"', '"1.2.9"'))

    const { attributes } = await workspace.create(old, { 'json-state': Buffer.from('{}').toString('base64') })

    expect(attributes['engine-version']).toBe('1.2.9')
    expect(attributes['hosted-json-state-download-url']).toBeNull()
  })

  test('shows outputs from json-state-outputs in place of those in the state', async () => {
    const outputs = { region: { sensitive: false, type: 'string', value: 'us' } }

    const { id } = await workspace.create(raw, {
      'json-state-outputs': Buffer.from(JSON.stringify(outputs)).toString('base64'),
    })

    const answer = (await workspace.request('GET', `/state-versions/${id}/outputs`)).json()
    expect(answer.data.map((output: any) => output.attributes)).toEqual([
      { name: 'region', sensitive: false, type: 'string', 'detailed-type': 'string', value: 'us' },
    ])
  })

  test('takes a content of megabytes in the body', async () => {
    const large = rawState({ serial: 4, outputs: { region: 'eu' }, resources: ['big'], padding: 6_000_000 })

    const version = await workspace.create(large)

    expect(version.attributes).toMatchObject({ size: large.length, status: 'finalized', 'resources-processed': false })
    expect((await download(app, version.attributes['hosted-state-download-url'])).bytes.equals(large)).toBe(true)
    await app.runJobs()
    const { attributes } = await workspace.show(version.id)
    expect(attributes).toMatchObject({ 'resources-processed': true, modules: { root: { 'terraform-data': 1 } } })
  })
})

describe('who may create a version', () => {
  test('a workspace that does not exist is not found', async () => {
    const answer = await stateClient(app, { id: 'ws-nothing', name: 'x' }, ada.token).post(raw)

    expect(answer.status).toBe(404)
  })

  test('a workspace that the caller may not see is not found, whatever the body', async () => {
    const stranger = await createUser(app)

    const client = stateClient(app, workspace, stranger.token)

    expect((await client.post(raw)).status).toBe(404)
    expect((await client.post(raw, { serial: 'x' })).status).toBe(404)
  })

  test('an organization token is refused as not found', async () => {
    const { text } = await createOrganizationToken(app.as(ada.actor), organization, { kind: 'organization' })
    const client = stateClient(app, await createWorkspace(app, { organization }), text)
    await client.lock()

    expect((await client.post(raw)).status).toBe(404)
    expect((await client.rollBack('sv-nothing')).status).toBe(404)
  })

  test('no token is 401', async () => {
    const answer = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${workspace.id}/state-versions`,
      body: stateVersionBody(raw),
    })

    expect(answer.status).toBe(401)
  })
})

describe('a malformed body is 422 with a pointer', () => {
  const pointerOf = (answer: { status: number; json: () => any }) => {
    expect(answer.status).toBe(422)
    return answer.json().errors[0].source.pointer
  }

  test.each([
    ['serial', undefined],
    ['serial', 'three'],
    ['serial', 1.5],
    ['serial', -1],
    ['md5', undefined],
    ['md5', 'not a hash'],
    ['md5', '0'.repeat(32)],
    ['state', 'not base64!'],
    ['state', Buffer.from('not a state').toString('base64')],
    ['state', Buffer.from('{"serial":3}').toString('base64')],
    ['json-state', '%%%'],
    ['json-state-outputs', '%%%'],
    ['json-state-outputs', Buffer.from('[').toString('base64')],
  ])('%s: %j', async (name, value) => {
    const attributes: Record<string, unknown> = { [name]: value }
    if (name === 'state' && typeof value === 'string') attributes['md5'] = md5(Buffer.from(value, 'base64'))

    expect(pointerOf(await workspace.post(raw, attributes))).toBe(`/data/attributes/${name}`)
  })

  test('another type', async () => {
    const body = { data: { ...stateVersionBody(raw).data, type: 'runs' } }

    const answer = await workspace.request('POST', `/workspaces/${workspace.id}/state-versions`, body)

    expect(pointerOf(answer)).toBe('/data/type')
  })

  test('a serial that is not the one inside the state', async () => {
    expect(pointerOf(await workspace.post(raw, { serial: 4 }))).toBe('/data/attributes/serial')
  })

  test('a lineage that is not the one inside the state', async () => {
    expect(pointerOf(await workspace.post(raw, { lineage: 'another' }))).toBe('/data/attributes/lineage')
  })

  test('a run that does not exist', async () => {
    const answer = await workspace.post(raw, {}, { run: { data: { type: 'runs', id: 'run-nothing' } } })

    expect(pointerOf(answer)).toBe('/data/relationships/run')
  })

  test('leaves nothing behind', async () => {
    await workspace.post(raw, { serial: 4 })

    expect((await workspace.current()).status).toBe(404)
  })
})

test('a lineage may be missing', async () => {
  const { lineage: _, ...state } = JSON.parse(raw.toString())
  const content = Buffer.from(JSON.stringify(state))

  expect((await workspace.post(content, { lineage: undefined })).status).toBe(201)
})

describe('the lock', () => {
  test('a workspace that is not locked is a conflict', async () => {
    await workspace.unlock()

    const answer = await workspace.post(raw)

    expect(answer.status).toBe(409)
    expect(answer.json().errors[0].detail).toContain('is not locked')
  })

  test('a lock of somebody else is a conflict that names them', async () => {
    const bob = await createUser(app, { username: 'bob-the-locker' })
    const other = await createWorkspace(app, { organization })
    await app.db
      .updateTable('workspaces')
      .set({ locked_by_type: 'user', locked_by_id: bob.id, locked_reason: 'maintenance', locked_at: app.now() })
      .where('id', '=', other.id)
      .execute()

    const answer = await stateClient(app, other, ada.token).post(raw)

    expect(answer.status).toBe(409)
    expect(answer.json().errors[0].detail).toMatch(/is locked by User bob-the-locker.*maintenance/)
  })

  test('a malformed body is told before a missing lock', async () => {
    await workspace.unlock()

    expect((await workspace.post(raw, { md5: '0'.repeat(32) })).status).toBe(422)
  })
})

describe('serial and lineage', () => {
  beforeEach(async () => {
    await workspace.create(raw)
  })

  test('a serial below the current one fails a precondition', async () => {
    const answer = await workspace.post(rawState({ serial: 2 }))

    expect(answer.status).toBe(412)
    expect(answer.json().errors[0].detail).toMatch(/serial 2 .*current serial 3/)
  })

  test('the same serial with other content is a conflict that shows both hashes', async () => {
    const other = rawState({ serial: 3, outputs: { region: 'us' } })

    const answer = await workspace.post(other)

    expect(answer.status).toBe(409)
    expect(answer.json().errors[0].detail).toContain(md5(raw))
    expect(answer.json().errors[0].detail).toContain(md5(other))
  })

  test('another lineage is a conflict that shows both', async () => {
    const answer = await workspace.post(rawState({ serial: 4, lineage: 'other-lineage' }))

    expect(answer.status).toBe(409)
    expect(answer.json().errors[0].detail).toMatch(/other-lineage.*8c6a3f0e/)
  })

  test('an identical repetition is answered with the version that is there', async () => {
    const current = (await workspace.current()).json().data.id

    const answer = await workspace.post(raw)

    expect(answer.status).toBe(201)
    expect(answer.json().data.id).toBe(current)
  })

  test('a higher serial becomes current', async () => {
    const next = await workspace.create(rawState({ serial: 9 }))

    expect((await workspace.current()).json().data).toMatchObject({ id: next.id, attributes: { serial: 9 } })
  })

  test('state push -force replaces the lineage', async () => {
    const answer = await workspace.post(rawState({ serial: 4, lineage: 'other-lineage' }), { force: true })

    expect(answer.status).toBe(201)
  })
})

test("OpenTofu's encrypted state is kept as it is, and extracted to nothing", async () => {
  const encrypted = Buffer.from(
    JSON.stringify({ serial: 5, lineage: 'l', meta: {}, encrypted_data: 'c2VjcmV0', encryption_version: 'v0' }),
  )
  const outputs = { region: { sensitive: true, type: 'string', value: 'eu' } }

  const { id, attributes } = await workspace.create(encrypted, {
    'json-state-outputs': Buffer.from(JSON.stringify(outputs)).toString('base64'),
  })

  expect(attributes).toMatchObject({ 'resources-processed': true, resources: [], 'state-version': null, serial: 5 })
  expect((await download(app, attributes['hosted-state-download-url'])).bytes.equals(encrypted)).toBe(true)
  const answer = (await workspace.request('GET', `/state-versions/${id}/outputs`)).json()
  expect(answer.data).toMatchObject([{ attributes: { name: 'region', value: 'eu' } }])
})

test('with lenient checks, serial and lineage of the request count', async () => {
  const lenient = await createTestApp({ GROUNDSTATE_STATE_CHECK: 'lenient' })
  const user = await createUser(lenient)
  const client = await lockedWorkspace(lenient, (await createOrganization(lenient, user)).name, user)

  const version = await client.create(raw, { serial: 0, lineage: 'from-the-request' })

  expect(version.attributes.serial).toBe(0)
  expect((await client.post(rawState({ serial: 7 }), { serial: 1, lineage: 'another' })).status).toBe(409)
})

test('the content of whoever may not write is not even read', async () => {
  const stranger = await createUser(app)
  // Read, it would be answered as what is no JSON.
  const body = 'x'.repeat(2_000_000)

  const answers = [stranger, ada].map(async ({ token }) =>
    app.request({ method: 'POST', url: `/api/v2/workspaces/${workspace.id}/state-versions`, token, body }),
  )

  expect((await Promise.all(answers)).map((answer) => answer.status)).toEqual([404, 422])
})

test('inline content that is no state, and a lineage that is another one, are pointed at', async () => {
  const workspace = await lockedWorkspace(app, organization, ada)
  const refusal = async (attributes: object) => {
    const answer = await workspace.post(rawState(), { ...attributes })
    return [answer.status, answer.json().errors?.[0]?.detail, answer.json().errors?.[0]?.source?.pointer]
  }
  const json = Buffer.from('hello').toString('base64')

  expect(await refusal({ 'json-state': json })).toEqual([
    422,
    expect.stringContaining('the JSON state is not a JSON object'),
    '/data/attributes/json-state',
  ])
  expect(await refusal({ state: '' })).toEqual([422, 'state is empty', '/data/attributes/state'])
  expect(await refusal({ lineage: '' })).toEqual([
    422,
    expect.stringContaining('lineage is empty, but the content of state has'),
    '/data/attributes/lineage',
  ])
  expect((await workspace.post(rawState(), { state: null })).json().data.attributes.status).toBe('pending')
})
