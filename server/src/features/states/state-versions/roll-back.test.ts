import { sql } from 'kysely'
import { beforeEach, describe, expect, test } from 'vitest'
import { createUser } from '../../../testing/factories.ts'
import {
  createStateSetting,
  download,
  lockedWorkspace,
  md5,
  rawState,
  type StateClient,
  stateClient,
} from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

const SOFT = 'soft_delete_backing_data'

function stateOf(content: object, padding: number) {
  const head = { version: 4, terraform_version: '1.11.4', serial: 1, lineage: 'odd', padding: 'x'.repeat(padding) }
  return Buffer.from(JSON.stringify({ ...head, outputs: {}, resources: [], ...content }))
}

describe('roll back', () => {
  test('makes a copy current that differs only in its serial', async () => {
    const raw = rawState({ serial: 1, outputs: { region: 'eu' }, resources: ['one'] })
    const first = await workspace.create(raw)
    await workspace.create(rawState({ serial: 9, outputs: { region: 'us' } }))

    const response = await workspace.rollBack(first.id)

    expect(response.status).toBe(201)
    const { data } = response.json()
    expect(data.attributes).toMatchObject({ serial: 10, status: 'finalized', 'hosted-state-upload-url': null })
    expect(data.relationships['rollback-state-version'].data).toEqual({ id: first.id, type: 'state-versions' })
    expect((await workspace.current()).json().data.id).toBe(data.id)
    const content = await download(app, data.attributes['hosted-state-download-url'])
    expect(content.text).toBe(raw.toString().replace('"serial": 1,', '"serial": 10,'))
    const outputs = (await workspace.request('GET', `/workspaces/${workspace.id}/current-state-version-outputs`)).json()
    expect(outputs.data).toMatchObject([{ attributes: { name: 'region', value: 'eu' } }])
  })

  test('leaves the next serial to the next apply', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    await workspace.create(rawState({ serial: 2 }))
    const copy = (await workspace.rollBack(first.id)).json().data

    expect(copy.attributes.serial).toBe(3)
    expect((await workspace.post(rawState({ serial: 3, outputs: { a: 'b' } }))).status).toBe(409)
    expect((await workspace.post(rawState({ serial: 4 }))).status).toBe(201)
  })

  test('discards a pending version', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    const pending = await workspace.create(rawState({ serial: 2 }), { state: undefined })

    const copy = (await workspace.rollBack(first.id)).json().data

    expect(copy.attributes.serial).toBe(3)
    expect((await workspace.show(pending.id)).attributes.status).toBe('discarded')
  })

  test('copies the JSON state and content of several MB', async () => {
    const raw = rawState({ serial: 1, resources: ['big'], padding: 1_000_000 })
    const first = await workspace.create(raw, { 'json-state': Buffer.from('{"a":1}').toString('base64') })

    const { attributes } = (await workspace.rollBack(first.id)).json().data

    expect((await download(app, attributes['hosted-json-state-download-url'])).text).toBe('{"a":1}')
    const content = await download(app, attributes['hosted-state-download-url'])
    expect(content.text).toBe(raw.toString().replace('"serial": 1,', '"serial": 2,'))
  })

  // The database ends a transaction that is idle for seconds, and an object store may take longer.
  test('has no open transaction while the content is copied', async () => {
    const first = await workspace.create(rawState({ serial: 1, resources: ['big'], padding: 1_000_000 }))
    const silent: number[] = []
    const { put } = app.blobs
    app.blobs.put = async (...parts) => {
      const { rows } = await sql<{ count: number }>`select count(*) from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'`.execute(app.db)
      silent.push(rows[0]?.count ?? 0)
      return put.apply(app.blobs, parts)
    }

    const response = await workspace.rollBack(first.id).finally(() => void (app.blobs.put = put))

    expect(response.status).toBe(201)
    expect(silent).toEqual([0])
  })

  test('to an unknown version, or one of another workspace, is not found', async () => {
    const other = await lockedWorkspace(app, organization, ada)
    const foreign = await other.create(rawState())

    expect((await workspace.rollBack('sv-nothing')).status).toBe(404)
    expect((await workspace.rollBack(foreign.id)).status).toBe(404)
  })

  test('to a pending or soft-deleted version is 422', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    await workspace.create(rawState({ serial: 2 }))
    await workspace.action(first.id, SOFT)
    const pending = await workspace.create(rawState({ serial: 3 }), { state: undefined })

    expect((await workspace.rollBack(first.id)).status).toBe(422)
    expect((await workspace.rollBack(pending.id)).status).toBe(422)
  })

  test('without the lock is a conflict', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    await workspace.unlock()

    expect((await workspace.rollBack(first.id)).status).toBe(409)
  })

  test('with a malformed body is 422', async () => {
    const path = `/workspaces/${workspace.id}/state-versions`

    for (const data of [{}, { type: 'state-versions' }, { type: 'runs', relationships: {} }]) {
      expect((await workspace.request('PATCH', path, { data })).status).toBe(422)
    }
  })

  test('by a stranger is not found', async () => {
    const first = await workspace.create(rawState({ serial: 1 }))
    const stranger = stateClient(app, workspace, (await createUser(app)).token)

    expect((await stranger.rollBack(first.id)).status).toBe(404)
  })
})

test.each([
  ['', 0],
  ['"serial":null,', 0],
  ['"serial":1e2,', 100],
])('a state that begins with {%s can be rolled back to', async (field, serial) => {
  const raw = Buffer.from(`{${field}"version":4}`)
  const target = await workspace.create(rawState(), {
    serial,
    md5: md5(raw),
    lineage: undefined,
    state: raw.toString('base64'),
  })

  const response = await workspace.rollBack(target.id)

  expect(response.status).toBe(201)
  const content = await download(app, response.json().data.attributes['hosted-state-download-url'])
  expect(content.json()).toEqual({ serial: serial + 1, version: 4 })
})

test('a rollback to a missing version names it', async () => {
  const response = await workspace.rollBack('sv-nowhere')

  expect(response.status).toBe(404)
  expect(response.json().errors).toMatchObject([
    {
      detail: expect.stringContaining('state version sv-nowhere not found'),
      source: { pointer: '/data/relationships/rollback-state-version' },
    },
  ])
})

test('a rollback beyond the maximum serial is rejected', async () => {
  const raw = stateOf({ serial: Number.MAX_SAFE_INTEGER }, 0)
  const created = await workspace.create(raw)

  const response = await workspace.rollBack(created.id)

  expect(response.status).toBe(409)
  expect(response.json().errors[0].detail).toContain(String(Number.MAX_SAFE_INTEGER))
})
