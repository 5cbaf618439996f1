import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { beforeEach, describe, expect, test } from 'vitest'
import type { TestResponse } from '../../../testing/app.ts'
import {
  createStateSetting,
  lockedWorkspace,
  md5,
  rawState,
  type StateClient,
  upload,
} from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void
const SOFT = 'soft_delete_backing_data'

describe('the diff of two versions', () => {
  test('shows the changes since the previous version, with sensitive values masked', async () => {
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

  test('hides values that the workspace marks sensitive, also if it was cached before', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const outputs = (key: string, serial: number) => ({
      key,
      list: { value: [`text ${serial}`, key], type: 'dynamic' },
    })
    const long = `-----BEGIN-----${'x'.repeat(4000)}`
    await workspace.create(rawState({ serial: 1, outputs: outputs('the former key', 1) }))
    const last = await workspace.create(rawState({ serial: 2, outputs: { ...outputs('swordfish', 2), long } }))
    const read = async () => workspace.request('GET', `/state-versions/${last.id}/diff`)

    const before = await read()
    for (const [key, value] of Object.entries({ key: 'swordfish', long })) {
      const attributes = { category: 'terraform', key, value, sensitive: true }
      await workspace.request('POST', `/workspaces/${workspace.id}/vars`, { data: { type: 'vars', attributes } })
    }
    const after = await read()

    expect(before.text).toContain('swordfish')
    expect(after.text).not.toMatch(/swordfish|the former key|BEGIN/)
    expect(after.json().data.attributes.outputs).toMatchObject([
      { name: 'key', attributes: [{ path: '', sensitive: true }] },
      {
        name: 'list',
        attributes: [
          { path: '[0]', sensitive: false, before: 'text 1', after: 'text 2' },
          { path: '[1]', sensitive: true },
        ],
      },
      { name: 'long', attributes: [{ path: '', sensitive: true }] },
    ])
  })

  test('hides former values of sensitive variables and the keys that they are', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const outputs = { key: 'the former key', object: { value: { 'the former key': 1 }, type: 'dynamic' } }
    await workspace.create(rawState({ serial: 1, outputs }))
    const last = await workspace.create(rawState({ serial: 2, outputs: { key: 'the next key' } }))
    const attributes = { category: 'terraform', key: 'key', value: 'the former key', sensitive: true }
    const vars = `/workspaces/${workspace.id}/vars`
    const created = await workspace.request('POST', vars, { data: { type: 'vars', attributes } })

    const change = { data: { type: 'vars', attributes: { value: 'swordfish' } } }
    await workspace.request('PATCH', `${vars}/${created.json().data.id}`, change)
    const updated = await workspace.request('GET', `/state-versions/${last.id}/diff`)
    await workspace.request('DELETE', `${vars}/${created.json().data.id}`)
    const deleted = await workspace.request('GET', `/state-versions/${last.id}/diff`)

    expect(updated.text).not.toContain('the former key')
    expect(updated.json().data.attributes.outputs).toMatchObject([
      { name: 'key', attributes: [{ path: '', sensitive: true }] },
      { name: 'object', attributes: [{ path: '', sensitive: true }] },
    ])
    expect(deleted.text).toBe(updated.text)
  })

  test('distinguishes numbers beyond double precision', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const stateWith = (serial: number, digits: string) => {
      const raw = rawState({ serial, outputs: { wide: { value: '@', type: 'number' } } })
      return Buffer.from(raw.toString().replace('"@"', digits))
    }
    const post = async (raw: Buffer, serial: number) =>
      workspace.create(rawState({ serial }), { state: raw.toString('base64'), md5: md5(raw) })
    await post(stateWith(1, '12345678901234567890'), 1)
    const last = await post(stateWith(2, '12345678901234567891'), 2)

    const computed = await workspace.request('GET', `/state-versions/${last.id}/diff`)
    const cached = await workspace.request('GET', `/state-versions/${last.id}/diff`)

    expect(computed.text).toContain('"before":12345678901234567890,"after":12345678901234567891')
    expect(cached.text).toBe(computed.text)
  })

  test('of large states is computed one at a time, as are roll-backs', async () => {
    const MAX_MB = 120
    const workspace = await lockedWorkspace(app, organization, ada)
    const ids: string[] = []
    for (let serial = 1; serial <= 6; serial += 1) {
      const raw = rawState({ serial, resources: ['one'], padding: 16 * 1024 * 1024 })
      const { id, attributes } = await workspace.create(rawState({ serial }), { state: undefined, md5: md5(raw) })
      await upload(app, attributes['hosted-state-upload-url'], raw)
      ids.push(id)
    }
    const buffers = () => process.memoryUsage().arrayBuffers / 1024 ** 2
    /** Statuses of concurrent requests, and the memory of buffers that they held at once, in MB. */
    const measure = async (send: (id: string) => Promise<TestResponse>) => {
      const before = buffers()
      let peak = 0
      const timer = setInterval(() => {
        // Garbage is collected at any time, or late.
        if (buffers() - before > MAX_MB) collectGarbage()
        peak = Math.max(peak, buffers() - before)
      }, 1)
      const responses = await Promise.all(ids.map(send))
      clearInterval(timer)
      return { statuses: new Set(responses.map(({ status }) => status)), megabytes: peak }
    }

    const diffs = await measure(async (id) => workspace.request('GET', `/state-versions/${id}/diff`))
    const copies = await measure(async (id) => workspace.rollBack(id))

    expect([diffs.statuses, copies.statuses]).toEqual([new Set([200]), new Set([201])])
    expect(Math.max(diffs.megabytes, copies.megabytes)).toBeLessThanOrEqual(MAX_MB)
  }, 60_000)

  test('with a version of another workspace is not found', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const other = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())
    const foreign = await other.create(rawState())

    expect((await workspace.request('GET', `/state-versions/${id}/diff?from=${foreign.id}`)).status).toBe(404)
  })

  test('is a document with both ids', async () => {
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

  test('rejects other parameters', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const { id } = await workspace.create(rawState())

    const response = await workspace.request('GET', `/state-versions/${id}/diff?to=${id}`)

    expect(response.status).toBe(422)
    expect(response.json().errors[0]).toMatchObject({ source: { parameter: 'to' } })
  })

  test('of an encrypted state reports that it is encrypted', async () => {
    const workspace = await lockedWorkspace(app, organization, ada)
    const envelope = { serial: 1, lineage: 'l', meta: {}, encrypted_data: 'aGk=', encryption_version: 'v0' }
    const { id } = await workspace.create(Buffer.from(JSON.stringify(envelope)))

    const response = await workspace.request('GET', `/state-versions/${id}/diff`)

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toBe(`${id} can't be compared: the state is encrypted`)
  })
})

test('a diff from a version without content is rejected with the parameter', async () => {
  const first = await workspace.create(rawState({ serial: 1 }))
  const second = await workspace.create(rawState({ serial: 2 }))
  await workspace.action(first.id, SOFT)

  const response = await workspace.request('GET', `/state-versions/${second.id}/diff?from=${first.id}`)

  expect(response.status).toBe(422)
  expect(response.json().errors).toMatchObject([
    { detail: expect.stringContaining(first.id), source: { parameter: 'from' } },
  ])
})

test.each([
  ['sv-nowhere', 404, 'state version sv-nowhere not found'],
  ['', 422, 'from is empty'],
  ['%20', 422, 'from is empty'],
])('a diff from %j is rejected with the parameter', async (from, status, detail) => {
  const { id } = await workspace.create(rawState())

  const response = await workspace.request('GET', `/state-versions/${id}/diff?from=${from}`)

  expect(response.status).toBe(status)
  expect(response.json().errors).toMatchObject([
    { detail: expect.stringContaining(detail), source: { parameter: 'from' } },
  ])
})
