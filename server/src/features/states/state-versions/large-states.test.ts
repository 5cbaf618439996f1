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

describe('a state of several MB, which a worker reads', () => {
  const large = rawState({
    serial: 2,
    resources: Array.from({ length: 50 }, (_, index) => `r${index}`),
    padding: 100_000,
  })
  const PENDING = { state: undefined }

  test('is taken inline and by upload, byte for byte', async () => {
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
  ])('with %s is refused', async (_, content, attributes, name) => {
    const refused = await workspace.post(large, { state: content.toString('base64'), ...attributes })

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].source.pointer).toBe(`/data/attributes/${name}`)
  })

  test.each([
    ['raw', 'hosted-state-upload-url', rawState({ serial: 9, padding: 5_000_000 }), 'serial is 2'],
    ['raw', 'hosted-state-upload-url', large.subarray(0, -2), 'the state '],
    ['JSON', 'hosted-json-state-upload-url', large.subarray(0, -2), 'the JSON state '],
    ['JSON', 'hosted-json-state-upload-url', Buffer.alloc(5_000_000, ' '), 'the JSON state '],
  ])('whose %s upload is not what was declared stays pending', async (_, url, wrong, words) => {
    const { id, attributes } = await workspace.create(large, { ...PENDING, md5: md5(wrong) })

    const refused = await upload(app, attributes[url], wrong)

    expect(refused.status).toBe(422)
    expect(refused.json().errors[0].detail).toContain(words)
    expect((await workspace.show(id)).attributes.status).toBe('pending')
  })

  test.each([
    ['of a declared length', (body: string) => body],
    ['without one', (body: string) => new Blob([body]).stream()],
  ])('arrives over a connection in a body %s', async (_, bodyOf) => {
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

  test('in a body above the limit is told the limit', async () => {
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
