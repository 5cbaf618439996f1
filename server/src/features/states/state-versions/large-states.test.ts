import { beforeEach, describe, expect, test } from 'vitest'
import {
  createStateSetting,
  download,
  lockedWorkspace,
  md5,
  rawState,
  type StateClient,
  stateVersionBody,
  upload,
} from '../../../testing/state-versions.ts'

const { app, ada, organization } = await createStateSetting()
const origin = app.listen()
let workspace: StateClient

beforeEach(async () => {
  workspace = await lockedWorkspace(app, organization, ada)
})

describe('a state of several MB, read by a worker', () => {
  const large = rawState({
    serial: 2,
    resources: Array.from({ length: 50 }, (_, index) => `r${index}`),
    padding: 100_000,
  })
  const PENDING = { state: undefined }

  test('is stored byte for byte, inline and by upload', async () => {
    const inline = await workspace.create(large)
    const next = Buffer.from(large.toString().replace('"serial": 2', '"serial": 3'))
    const { id, attributes } = await workspace.create(rawState({ serial: 3 }), { ...PENDING, md5: md5(next) })

    expect((await upload(app, attributes['hosted-state-upload-url'], next)).status).toBe(200)

    for (const [version, raw] of [
      [inline.id, large],
      [id, next],
    ] as const) {
      const shown = await workspace.show(version)
      expect((await download(app, shown.attributes['hosted-state-download-url'])).bytes.equals(raw)).toBe(true)
    }
  })

  test.each([
    ['another MD5', large, { md5: '0'.repeat(32) }, 'md5'],
    ['another serial', large, { serial: 9 }, 'serial'],
    ['no end', large.subarray(0, -2), { md5: md5(large.subarray(0, -2)) }, 'state'],
  ])('with %s is rejected', async (_, content, attributes, name) => {
    const refused = await workspace.post(large, { state: content.toString('base64'), ...attributes })

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].source.pointer).toBe(`/data/attributes/${name}`)
  })

  test.each([
    ['raw', 'hosted-state-upload-url', rawState({ serial: 9, padding: 5_000_000 }), 'serial is 2'],
    ['raw', 'hosted-state-upload-url', large.subarray(0, -2), 'the state '],
    ['JSON', 'hosted-json-state-upload-url', large.subarray(0, -2), 'the JSON state '],
    ['JSON', 'hosted-json-state-upload-url', Buffer.alloc(5_000_000, ' '), 'the JSON state '],
  ])('whose %s upload differs from the declaration stays pending', async (_, url, wrong, words) => {
    const { id, attributes } = await workspace.create(large, { ...PENDING, md5: md5(wrong) })

    const refused = await upload(app, attributes[url], wrong)

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].detail).toContain(words)
    expect((await workspace.show(id)).attributes.status).toBe('pending')
  })

  test.each([
    ['of a declared length', (body: string) => body],
    ['without one', (body: string) => new Blob([body]).stream()],
  ])('is received over a connection in a body %s', async (_, bodyOf) => {
    const response = await fetch(`${await origin}/api/v2/workspaces/${workspace.id}/state-versions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ada.token}`, 'content-type': 'application/vnd.api+json' },
      body: bodyOf(JSON.stringify(stateVersionBody(large))),
      duplex: 'half',
    })

    const { data } = (await response.json()) as { data: { attributes: Record<string, string> } }
    expect(response.status).toBe(201)
    expect((await download(app, String(data.attributes['hosted-state-download-url']))).bytes.equals(large)).toBe(true)
  })

  test('in a body above the limit is rejected with the limit', async () => {
    const refused = await app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${workspace.id}/state-versions`,
      token: ada.token,
      headers: { 'content-length': '200000000' },
      body: '{}',
    })

    expect(refused.status).toBe(413)
    expect(refused.json().errors[0].detail).toMatch(/^the body is larger than the \d+ bytes that this endpoint takes$/)
  })
})

describe('a state that is streamed to storage', () => {
  const sizes = { resources: Array.from({ length: 17 }, (_, index) => `r${index}`), padding: 1_000_000 }
  const huge = rawState({ serial: 2, ...sizes })

  /** Creates a pending version and uploads its content over a connection. */
  async function send(client: StateClient, content: Buffer, body: Buffer | ReadableStream = content) {
    const { id, attributes } = await client.create(rawState({ serial: 2 }), { state: undefined, md5: md5(content) })
    const { pathname } = new URL(attributes['hosted-state-upload-url'])
    const response = await fetch(`${await origin}${pathname}`, { method: 'PUT', body, duplex: 'half' })
    const fault = response.status === 200 ? undefined : JSON.parse(await response.text()).errors[0].detail
    return { status: response.status, fault, version: await client.show(id) }
  }

  test.each([
    ['of a declared length', (content: Buffer) => content],
    ['without one', (content: Buffer) => new Blob([content]).stream()],
  ])('is stored byte for byte, in a body %s', async (_, bodyOf) => {
    const { status, version } = await send(workspace, huge, bodyOf(huge))

    expect(status).toBe(200)
    const kept = await download(app, version.attributes['hosted-state-download-url'])
    expect(kept.bytes.equals(huge)).toBe(true)
  })

  test('is stored even if concurrent uploads exceed the memory', async () => {
    const states = Array.from({ length: 4 }, (_, n) => Buffer.from(huge.toString().replaceAll('xxxx', `x${n}xx`)))
    const clients = await Promise.all(states.map(async () => lockedWorkspace(app, organization, ada)))

    const sent = await Promise.all(states.map(async (state, n) => send(clients[n] as StateClient, state)))

    expect(sent.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    for (const [n, { version }] of sent.entries()) {
      const kept = await download(app, version.attributes['hosted-state-download-url'])
      expect(kept.bytes.equals(states[n] as Buffer)).toBe(true)
    }
  })

  test.each([
    ['another serial', rawState({ serial: 9, ...sizes }), 'serial is 2, but the content of state has 9'],
    ['no end', huge.subarray(0, -2), 'the text ends'],
  ])('with %s is rejected and stays pending', async (_, wrong, words) => {
    const { status, fault, version } = await send(workspace, wrong)

    expect([status, version.attributes.status]).toEqual([422, 'pending'])
    expect(fault).toContain(words)
  })

  test('with other bytes than declared is rejected, and a correct upload is accepted afterwards', async () => {
    const { id, attributes } = await workspace.create(rawState({ serial: 2 }), { state: undefined, md5: md5(huge) })
    const url = `${await origin}${new URL(attributes['hosted-state-upload-url']).pathname}`
    const other = Buffer.from(huge)
    other.write('y', other.indexOf('xxxx'))

    const refused = await fetch(url, { method: 'PUT', body: other })
    const taken = await fetch(url, { method: 'PUT', body: huge })

    expect([refused.status, taken.status]).toEqual([422, 200])
    expect((await workspace.show(id)).attributes.status).toBe('finalized')
  })
})
