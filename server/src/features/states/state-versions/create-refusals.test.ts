import { beforeEach, describe, expect, test } from 'vitest'
import { createUser, createWorkspace } from '../../../testing/factories.ts'
import {
  type StateClient,
  createStateSetting,
  lockedWorkspace,
  md5,
  rawState,
  stateClient,
  stateVersionBody,
} from '../../../testing/state-versions.ts'
import { createOrganizationToken } from '../../organizations/authentication-tokens/service.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const raw = rawState({ serial: 3, outputs: { region: 'eu' }, resources: ['one', 'two'] })

describe('permission to create a version', () => {
  test('a workspace that does not exist is not found', async () => {
    const response = await stateClient(app, { id: 'ws-nothing', name: 'x' }, ada.token).post(raw)

    expect(response.status).toBe(404)
  })

  test('a workspace that the caller may not see is not found, even with an invalid body', async () => {
    const stranger = await createUser(app)

    const client = stateClient(app, workspace, stranger.token)

    expect((await client.post(raw)).status).toBe(404)
    expect((await client.post(raw, { serial: 'x' })).status).toBe(404)
  })

  test('an organization token gets not found', async () => {
    const { text } = await createOrganizationToken(app.as(ada.actor), organization, { kind: 'organization' })
    const client = stateClient(app, await createWorkspace(app, { organization }), text)
    await client.lock()

    expect((await client.post(raw)).status).toBe(404)
    expect((await client.rollBack('sv-nothing')).status).toBe(404)
  })

  test('no token is 401', async () => {
    const response = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${workspace.id}/state-versions`,
      body: stateVersionBody(raw),
    })

    expect(response.status).toBe(401)
  })
})

describe('a malformed body gets 422 with a pointer', () => {
  const pointerOf = (response: { status: number; json: () => any }) => {
    expect(response.status).toBe(422)
    return response.json().errors[0].source.pointer
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

    const response = await workspace.request('POST', `/workspaces/${workspace.id}/state-versions`, body)

    expect(pointerOf(response)).toBe('/data/type')
  })

  test("a serial that differs from the state's", async () => {
    expect(pointerOf(await workspace.post(raw, { serial: 4 }))).toBe('/data/attributes/serial')
  })

  test("a lineage that differs from the state's", async () => {
    expect(pointerOf(await workspace.post(raw, { lineage: 'another' }))).toBe('/data/attributes/lineage')
  })

  test('a run that does not exist', async () => {
    const response = await workspace.post(raw, {}, { run: { data: { type: 'runs', id: 'run-nothing' } } })

    expect(pointerOf(response)).toBe('/data/relationships/run')
  })

  test('stores nothing', async () => {
    await workspace.post(raw, { serial: 4 })

    expect((await workspace.current()).status).toBe(404)
  })
})

describe('the lock', () => {
  test('a workspace that is not locked is a conflict', async () => {
    await workspace.unlock()

    const response = await workspace.post(raw)

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toContain('is not locked')
  })

  test("another user's lock is a conflict that names the user", async () => {
    const bob = await createUser(app, { username: 'bob-the-locker' })
    const other = await createWorkspace(app, { organization })
    await app.db
      .updateTable('workspaces')
      .set({ locked_by_type: 'user', locked_by_id: bob.id, locked_reason: 'maintenance', locked_at: app.now() })
      .where('id', '=', other.id)
      .execute()

    const response = await stateClient(app, other, ada.token).post(raw)

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toMatch(/is locked by User bob-the-locker.*maintenance/)
  })

  test('a malformed body is reported before a missing lock', async () => {
    await workspace.unlock()

    expect((await workspace.post(raw, { md5: '0'.repeat(32) })).status).toBe(422)
  })
})

describe('serial and lineage', () => {
  beforeEach(async () => {
    await workspace.create(raw)
  })

  test('a serial below the current one fails a precondition', async () => {
    const response = await workspace.post(rawState({ serial: 2 }))

    expect(response.status).toBe(412)
    expect(response.json().errors[0].detail).toMatch(/serial 2 .*current serial 3/)
  })

  test('the same serial with other content is a conflict that shows both hashes', async () => {
    const other = rawState({ serial: 3, outputs: { region: 'us' } })

    const response = await workspace.post(other)

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toContain(md5(raw))
    expect(response.json().errors[0].detail).toContain(md5(other))
  })

  test('another lineage is a conflict that shows both', async () => {
    const response = await workspace.post(rawState({ serial: 4, lineage: 'other-lineage' }))

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toMatch(/other-lineage.*8c6a3f0e/)
  })

  test('an identical retry returns the existing version', async () => {
    const current = (await workspace.current()).json().data.id

    const response = await workspace.post(raw)

    expect(response.status).toBe(201)
    expect(response.json().data.id).toBe(current)
  })

  test('a higher serial becomes current', async () => {
    const next = await workspace.create(rawState({ serial: 9 }))

    expect((await workspace.current()).json().data).toMatchObject({ id: next.id, attributes: { serial: 9 } })
  })

  test('state push -force replaces the lineage', async () => {
    const response = await workspace.post(rawState({ serial: 4, lineage: 'other-lineage' }), { force: true })

    expect(response.status).toBe(201)
  })
})

test('content from callers who may not write is not read', async () => {
  const stranger = await createUser(app)
  // If it were read, the error would be about invalid JSON.
  const body = 'x'.repeat(2_000_000)

  const responses = [stranger, ada].map(async ({ token }) =>
    app.request({ method: 'POST', url: `/api/v2/workspaces/${workspace.id}/state-versions`, token, body }),
  )

  expect((await Promise.all(responses)).map((response) => response.status)).toEqual([404, 422])
})

test('errors for an invalid inline state and for another lineage have pointers', async () => {
  const workspace = await lockedWorkspace(app, organization, ada)
  const refusal = async (attributes: object) => {
    const response = await workspace.post(rawState(), { ...attributes })
    return [response.status, response.json().errors?.[0]?.detail, response.json().errors?.[0]?.source?.pointer]
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

test.each([
  [{ state: 'e30!' }, 'state', 'state is not valid base64: it contains "!"'],
  [{ state: 'QQ==QQ==' }, 'state', 'state is not valid base64: it is truncated, or has data after its padding'],
  [{ 'json-state': '😀' }, 'json-state', 'json-state is not valid base64: it contains "😀"'],
  [
    { 'json-state-outputs': 'e30=e30=' },
    'json-state-outputs',
    'json-state-outputs is not valid base64: it is truncated',
  ],
  [
    { 'json-state-outputs': 'W10=' },
    'json-state-outputs',
    'json-state-outputs: it must be an object of outputs by name',
  ],
  [
    { 'json-state-outputs': 'eyJhIjoxfQ==' },
    'json-state-outputs',
    'json-state-outputs: the output "a" is not an object',
  ],
])('%j is rejected with a pointer and the reason', async (attributes, name, detail) => {
  const response = await workspace.post(rawState(), attributes)

  expect(response.status).toBe(422)
  expect(response.json().errors).toMatchObject([
    { detail: expect.stringContaining(detail), source: { pointer: `/data/attributes/${name}` } },
  ])
})

test.each([
  ['serial', { serial: 4 }, 412],
  ['serial', { serial: 5, outputs: { other: 'x' } }, 409],
  ['lineage', { serial: 6, lineage: 'another' }, 409],
])('the error for a %s that does not follow the current state has a pointer', async (name, content, status) => {
  await workspace.create(rawState({ serial: 5 }))

  const response = await workspace.post(rawState(content))

  expect(response.status).toBe(status)
  expect(response.json().errors[0].source).toEqual({ pointer: `/data/attributes/${name}` })
})
