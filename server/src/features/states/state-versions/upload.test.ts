import { beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, type TestUser } from '../../../testing/factories.ts'
import {
  download,
  lockedWorkspace,
  md5,
  rawState,
  type StateClient,
  upload,
  uploadInChunks,
} from '../../../testing/state-versions.ts'

let app: TestApp
let ada: TestUser
let organization: string
let organizationId: string
let workspace: StateClient

beforeAll(async () => {
  app = await createTestApp()
  ada = await createUser(app)
  ;({ id: organizationId, name: organization } = await createOrganization(app, ada))
})

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const raw = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['one'] })

const PENDING = { state: undefined }

describe('a version created without its content', () => {
  test('is pending, with two unguessable upload URLs', async () => {
    const { attributes } = await workspace.create(raw, PENDING)

    expect(attributes).toMatchObject({ status: 'pending', size: 0, 'resources-processed': false, resources: [] })
    expect(attributes['hosted-state-download-url']).toBeNull()
    for (const name of ['hosted-state-upload-url', 'hosted-json-state-upload-url']) {
      expect(attributes[name]).toMatch(/^http:\/\/groundstate\.test\/_objects\/v1\/object\/[^/?]*[\w-]{20,}$/)
    }
  })

  test('is not the current state', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    await workspace.create(raw, PENDING)

    expect((await workspace.current()).json().data.id).toBe(first.id)
  })

  test('prevents an unlock', async () => {
    await workspace.create(raw, PENDING)

    const response = await workspace.unlock()

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toContain('latest state version is still pending')
  })

  test('does not prevent a forced unlock', async () => {
    await workspace.create(raw, PENDING)

    expect((await workspace.forceUnlock()).status).toBe(200)
  })

  test('has its serial checked immediately', async () => {
    await workspace.create(raw)

    expect((await workspace.post(rawState({ serial: 2 }), PENDING)).status).toBe(412)
  })
})

test('readers of a pending version get no upload URLs', async () => {
  const { id } = await workspace.create(raw, PENDING)
  const reader = await createUser(app)
  await createTeamWithAccess(app, { members: [reader], organizationId, workspaces: { [workspace.id]: 'read' } })

  const { data } = (await app.request({ url: `/api/v2/state-versions/${id}`, token: reader.token })).json()

  expect(data.attributes).toMatchObject({
    status: 'pending',
    'hosted-state-upload-url': null,
    'hosted-json-state-upload-url': null,
  })
})

test('an empty JSON state is rejected, and the upload can be retried', async () => {
  const { attributes } = await workspace.create(raw, PENDING)
  const url = attributes['hosted-json-state-upload-url']

  expect((await upload(app, url, Buffer.alloc(0))).status).toBe(422)
  expect((await upload(app, url, '{"format_version":"1.0"}')).status).toBe(200)
})

describe('the upload of the raw state', () => {
  test('finalizes the version before the response', async () => {
    const pending = await workspace.create(raw, PENDING)

    const response = await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    expect(response.status).toBe(200)
    const { attributes } = await workspace.show(pending.id)
    expect(attributes).toMatchObject({ status: 'finalized', size: raw.length, 'engine-version': '1.11.4' })
    expect((await workspace.current()).json().data.id).toBe(pending.id)
    expect((await download(app, attributes['hosted-state-download-url'])).bytes.equals(raw)).toBe(true)
    expect((await workspace.unlock()).status).toBe(200)
  })

  test('removes its URL but not that of the JSON state', async () => {
    const pending = await workspace.create(raw, PENDING)

    await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    const { attributes } = await workspace.show(pending.id)
    expect(attributes['hosted-state-upload-url']).toBeNull()
    expect(attributes['hosted-json-state-upload-url']).not.toBeNull()
  })

  test('works once', async () => {
    const pending = await workspace.create(raw, PENDING)
    await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    const response = await upload(app, pending.attributes['hosted-state-upload-url'], raw)

    expect(response.status).toBe(409)
  })

  test.each([
    ['other content', rawState({ serial: 3, outputs: { region: 'us' } })],
    ['no content', Buffer.alloc(0)],
  ])('with %s is rejected and can be retried', async (_, content) => {
    const pending = await workspace.create(raw, PENDING)

    const refused = await upload(app, pending.attributes['hosted-state-upload-url'], content)

    expect(refused.status).toBe(422)
    expect(refused.json().errors).toMatchObject([{ source: { pointer: '' } }])
    expect((await workspace.show(pending.id)).attributes.status).toBe('pending')
    expect((await upload(app, pending.attributes['hosted-state-upload-url'], raw)).status).toBe(200)
  })

  test('of a state with another serial than declared is rejected', async () => {
    const other = rawState({ serial: 4 })
    const pending = await workspace.create(raw, { ...PENDING, md5: md5(other) })

    const refused = await upload(app, pending.attributes['hosted-state-upload-url'], other)

    expect(refused.status).toBe(422)
  })

  test('of several MB goes to a blob and is extracted immediately if its size was declared', async () => {
    const large = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['big'], padding: 6_000_000 })
    const pending = await workspace.create(large, PENDING)

    const response = await upload(app, pending.attributes['hosted-state-upload-url'], large)

    expect(response.status).toBe(200)
    expect(await app.runJobs()).toBe(0)
    const { attributes } = await workspace.show(pending.id)
    expect(attributes).toMatchObject({ 'resources-processed': true, resources: [{ name: 'big', count: 1 }] })
    expect((await download(app, attributes['hosted-state-download-url'])).bytes.equals(large)).toBe(true)
  })

  test.each([
    ['a megabyte that arrives in chunks', 1_000_000, uploadInChunks],
    ['many megabytes', 17_000_000, upload],
  ])('of %s goes to a blob and is extracted by a job', async (_, padding, upload) => {
    const large = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['big'], padding })
    const pending = await workspace.create(large, PENDING)

    const response = await upload(app, pending.attributes['hosted-state-upload-url'], large)

    expect(response.status).toBe(200)
    const version = await workspace.show(pending.id)
    expect(version.attributes).toMatchObject({
      status: 'finalized',
      'resources-processed': false,
      'engine-version': '1.11.4',
    })
    const content = await download(app, version.attributes['hosted-state-download-url'])
    expect(content.bytes.equals(large)).toBe(true)
    expect(await app.runJobs()).toBe(1)
    expect((await workspace.show(pending.id)).attributes).toMatchObject({
      'resources-processed': true,
      resources: [{ name: 'big', count: 1 }],
    })
  })

  test('of many MB that differ from the declaration is rejected, and nothing is stored', async () => {
    const [large, other] = [1, 2].map((n) => rawState({ serial: 3, resources: [`big-${n}`], padding: 8_000_000 }))
    const pending = await workspace.create(large ?? raw, PENDING)
    const url = pending.attributes['hosted-state-upload-url']

    const responses = await Promise.all([upload(app, url, other ?? raw), upload(app, url, other ?? raw)])

    expect(responses.map(({ status }) => status)).toEqual([422, 422])
    for await (const { keys } of app.blobs.list(`state-versions/${pending.id}/`)) expect(keys).toEqual([])
    expect((await upload(app, url, large ?? raw)).status).toBe(200)
  })

  test('makes the outputs readable, regardless of the size', async () => {
    const large = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['big'], padding: 1_000_000 })
    const pending = await workspace.create(large, PENDING)
    await upload(app, pending.attributes['hosted-state-upload-url'], large)

    const outputs = await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)

    expect(outputs.json().data).toMatchObject([{ attributes: { name: 'region', value: 'eu' } }])
  })

  test('is rejected with a modified signature, and after 25 hours', async () => {
    const pending = await workspace.create(raw, PENDING)
    const url = pending.attributes['hosted-state-upload-url']
    const forged = url.slice(0, -1) + (url.endsWith('A') ? 'B' : 'A')

    expect((await upload(app, forged, raw)).status).toBe(404)
    expect((await upload(app, url.replace('-raw-upload', '-raw'), raw)).status).toBe(404)
    app.clock.advance(25 * 3_600_000 + 1000)
    expect((await upload(app, url, raw)).status).toBe(404)
  })

  test('is rejected after another user has taken the lock', async () => {
    const pending = await workspace.create(raw, PENDING)
    await workspace.forceUnlock()
    const holder = { locked_by_type: 'user' as const, locked_by_id: 'user-other', locked_at: app.now() }
    await app.db.updateTable('workspaces').set(holder).where('id', '=', workspace.id).execute()

    expect((await upload(app, pending.attributes['hosted-state-upload-url'], raw)).status).toBe(409)
  })
})

describe('the upload of the JSON state', () => {
  const json = '{"format_version":"1.0","values":{}}'

  test('alone does not finalize the version', async () => {
    const pending = await workspace.create(raw, PENDING)

    const response = await upload(app, pending.attributes['hosted-json-state-upload-url'], json)

    expect(response.status).toBe(200)
    const { attributes } = await workspace.show(pending.id)
    expect(attributes.status).toBe('pending')
    expect(attributes['hosted-json-state-upload-url']).toBeNull()
  })

  test.each([
    ['before', ['hosted-json-state-upload-url', 'hosted-state-upload-url']],
    ['after', ['hosted-state-upload-url', 'hosted-json-state-upload-url']],
  ])('is accepted %s the raw state', async (_, order) => {
    const pending = await workspace.create(raw, PENDING)

    for (const name of order) {
      const content = name === 'hosted-state-upload-url' ? raw : json
      expect((await upload(app, pending.attributes[name], content)).status).toBe(200)
    }

    const { attributes } = await workspace.show(pending.id)
    expect((await download(app, attributes['hosted-json-state-download-url'])).text).toBe(json)
  })

  test('works once', async () => {
    const pending = await workspace.create(raw, PENDING)
    await upload(app, pending.attributes['hosted-json-state-upload-url'], json)

    expect((await upload(app, pending.attributes['hosted-json-state-upload-url'], json)).status).toBe(409)
  })
})

describe('a pending version that a newer one supersedes', () => {
  test.each([
    ['with content', {}],
    ['without content', PENDING],
  ])('%s is discarded, and accepts no upload', async (_, attributes) => {
    const pending = await workspace.create(raw, PENDING)

    const newer = await workspace.create(rawState({ serial: 4 }), attributes)
    const current = await workspace.current()

    expect((await workspace.show(pending.id)).attributes).toMatchObject({
      status: 'discarded',
      'hosted-state-upload-url': null,
      'hosted-json-state-upload-url': null,
    })
    expect((await upload(app, pending.attributes['hosted-state-upload-url'], raw)).status).toBe(409)
    const isFinalized = newer.attributes.status === 'finalized'
    expect(current.json().data?.id).toBe(isFinalized ? newer.id : undefined)
  })
})

describe('a JSON state', () => {
  const large = Buffer.from(`{"format_version":"1.0","a":"${'x'.repeat(400_000)}"}`)

  test.each([
    ['text', Buffer.from('hello')],
    ['a list', Buffer.from('[1]')],
    ['large and truncated', large.subarray(0, -1)],
  ])('that is %s is rejected, and its URL stays usable', async (_, content) => {
    const { id, attributes } = await workspace.create(raw, PENDING)
    const url = attributes['hosted-json-state-upload-url']

    const refused = await upload(app, url, content)
    const taken = await upload(app, url, large)

    expect(refused.status).toBe(422)
    expect(refused.json().errors).toMatchObject([
      { detail: expect.stringMatching(/^the JSON state is /), source: { pointer: '' } },
    ])
    expect(taken.status).toBe(200)
    await upload(app, attributes['hosted-state-upload-url'], raw)
    const shown = await workspace.show(id)
    expect((await download(app, shown.attributes['hosted-json-state-download-url'])).text).toBe(large.toString())
  })
})

test('a JSON state of declared size is stored completely when it arrives in chunks, as from a socket', async () => {
  const { id, attributes } = await workspace.create(raw, PENDING)
  const json = Buffer.from(JSON.stringify({ format_version: '1.0', values: {}, padding: 'a'.repeat(5_000_000) }))
  const size = { 'content-length': String(json.length) }

  const taken = await uploadInChunks(app, attributes['hosted-json-state-upload-url'], json, size)
  await upload(app, attributes['hosted-state-upload-url'], raw)

  expect(taken.status).toBe(200)
  const shown = await workspace.show(id)
  const { bytes } = await download(app, shown.attributes['hosted-json-state-download-url'])
  expect(bytes.equals(json)).toBe(true)
})

test('an empty declared lineage does not match a state with a lineage', async () => {
  const { attributes } = await workspace.create(raw, { ...PENDING, lineage: '' })

  const refused = await upload(app, attributes['hosted-state-upload-url'], raw)

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].detail).toContain('lineage is empty')
})

test('a downloaded state is not cached', async () => {
  const { attributes } = await workspace.create(rawState())

  const response = await download(app, attributes['hosted-state-download-url'])

  expect(response.headers['cache-control']).toBe('no-store')
})
