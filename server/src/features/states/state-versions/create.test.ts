import { beforeEach, describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import {
  createStateSetting,
  download,
  lockedWorkspace,
  rawState,
  type StateClient,
} from '../../../testing/state-versions.ts'
import { resourceLists } from './extraction.ts'
import { findVersion } from './store.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const raw = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['one', 'two'] })

describe('the response to a version created with its content', () => {
  test('is 201 with the attributes of INTERFACE §4.1', async () => {
    const response = await workspace.post(raw)

    expect(response.status).toBe(201)
    expect(response.headers['content-type']).toContain('application/vnd.api+json')
    expect(response.headers['x-terraform-snapshot-interval']).toMatch(/^\d+$/)
    const { data } = response.json()
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
      // Not in the public API.
      'resource-count': 2,
      lineage: expect.any(String),
      md5: expect.stringMatching(/^[0-9a-f]{32}$/),
      'restorable-until': null,
      permissions: { 'can-delete-backing-data': expect.any(Boolean) },
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

  test('comes after the version has become current, byte for byte', async () => {
    const created = await workspace.create(raw)

    const current = (await workspace.current()).json().data
    expect(current.id).toBe(created.id)
    const content = await download(app, current.attributes['hosted-state-download-url'])
    expect(content.status).toBe(200)
    expect(content.bytes.equals(raw)).toBe(true)
  })

  test('comes after outputs and the resource count are available', async () => {
    await workspace.create(raw)

    const outputs = (await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)).json()
    expect(outputs.data).toMatchObject([{ attributes: { name: 'region', value: 'eu', type: 'string' } }])
    const { attributes } = (await workspace.request('GET', `/workspaces/${workspace.id}`)).json().data
    expect(attributes['resource-count']).toBe(2)
  })

  test('has a download URL for JSON state that was sent', async () => {
    const json = Buffer.from('{"format_version":"1.0"}')

    const { attributes } = await workspace.create(raw, { 'json-state': json.toString('base64') })

    expect(attributes['hosted-json-state-upload-url']).toBeNull()
    expect((await download(app, attributes['hosted-json-state-download-url'])).bytes).toEqual(json)
  })

  test('has no download URL for JSON state of an engine before 1.3', async () => {
    const old = Buffer.from(raw.toString().replace('"1.11.4"', '"1.2.9"'))

    const { attributes } = await workspace.create(old, { 'json-state': Buffer.from('{}').toString('base64') })

    expect(attributes['engine-version']).toBe('1.2.9')
    expect(attributes['hosted-json-state-download-url']).toBeNull()
  })

  test('prefers outputs from json-state-outputs to those in the state', async () => {
    const outputs = { region: { sensitive: false, type: 'string', value: 'us' } }

    const { id } = await workspace.create(raw, {
      'json-state-outputs': Buffer.from(JSON.stringify(outputs)).toString('base64'),
    })

    const response = (await workspace.request('GET', `/state-versions/${id}/outputs`)).json()
    expect(response.data.map((output: any) => output.attributes)).toEqual([
      { name: 'region', sensitive: false, type: 'string', 'detailed-type': 'string', value: 'us' },
    ])
  })

  test('accepts content of several MB in the body', async () => {
    const large = rawState({ serial: 4, outputs: { region: 'eu' }, resources: ['big'], padding: 6_000_000 })

    const version = await workspace.create(large)

    expect(version.attributes).toMatchObject({
      size: large.length,
      status: 'finalized',
      'resources-processed': true,
      modules: { root: { 'terraform-data': 1 } },
    })
    expect((await download(app, version.attributes['hosted-state-download-url'])).bytes.equals(large)).toBe(true)
  })

  test('has a long list of resources, whatever its storage format', async () => {
    const names = Array.from({ length: 300 }, (_, index) => `item_${index}`)

    const version = await workspace.create(rawState({ serial: 4, resources: names }))

    const shown = await workspace.show(version.id)
    expect(shown.attributes.resources.map(({ name }: { name: string }) => name).toSorted()).toEqual(names.toSorted())
    expect(shown.attributes.resources[0]).toMatchObject({ type: 'terraform_data', count: 1, module: 'root' })
  })

  test('keeps only the bytes of a long list of resources in memory, once it is read again', async () => {
    const resources = Array.from({ length: 100 }, (_, index) => `item_${index}`)
    const { id } = await workspace.create(rawState({ serial: 4, resources }))
    const row = await findVersion(app.db, id)
    const listed = async () => (await resourceLists(app, row ? [row] : [])).get(id)

    const [read, again] = [await listed(), await listed()]

    expect(again).toBe(read)
    expect(read?.bytes.length).toBeGreaterThan(8_000)
    expect(read?.bytes.buffer.byteLength).toBe(read?.bytes.length)
  })
})

test('a lineage may be missing', async () => {
  const { lineage: _, ...state } = JSON.parse(raw.toString())
  const content = Buffer.from(JSON.stringify(state))

  expect((await workspace.post(content, { lineage: undefined })).status).toBe(201)
})

test("OpenTofu's encrypted state is stored unchanged, and nothing is extracted", async () => {
  const encrypted = Buffer.from(
    JSON.stringify({ serial: 5, lineage: 'l', meta: {}, encrypted_data: 'c2VjcmV0', encryption_version: 'v0' }),
  )
  const outputs = { region: { sensitive: true, type: 'string', value: 'eu' } }

  const { id, attributes } = await workspace.create(encrypted, {
    'json-state-outputs': Buffer.from(JSON.stringify(outputs)).toString('base64'),
  })

  expect(attributes).toMatchObject({ 'resources-processed': true, resources: [], 'state-version': null, serial: 5 })
  expect((await download(app, attributes['hosted-state-download-url'])).bytes.equals(encrypted)).toBe(true)
  const response = (await workspace.request('GET', `/state-versions/${id}/outputs`)).json()
  expect(response.data).toMatchObject([{ attributes: { name: 'region', value: 'eu' } }])
})

test('with lenient checks, the serial and lineage of the request apply', async () => {
  const lenient = await createTestApp({ GROUNDSTATE_STATE_CHECK: 'lenient' })
  const user = await createUser(lenient)
  const client = await lockedWorkspace(lenient, (await createOrganization(lenient, user)).name, user)

  const version = await client.create(raw, { serial: 0, lineage: 'from-the-request' })

  expect(version.attributes.serial).toBe(0)
  expect((await client.post(rawState({ serial: 7 }), { serial: 1, lineage: 'another' })).status).toBe(409)
})

test('a null run is no run', async () => {
  const response = await workspace.post(rawState(), {}, { run: { data: null } })

  expect(response.status).toBe(201)
  expect(response.json().data.relationships.run).toEqual({ data: null })
})
