import { brotliCompressSync, deflateSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { Header } from 'tar'
import { request } from 'undici'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createFakeAgent } from '../testing/fake-agent.ts'
import { createConfigurationVersion, createRun, createRunSetting } from '../testing/runs.ts'
import { rawState, stateClient } from '../testing/state-versions.ts'

/** Compressed bodies that would unpack to 512 MB; nested ones to hundreds of times that. */

const app = await createTestApp()
const url = await app.listen()
const setting = await createRunSetting(app)
const agent = await createFakeAgent(app)
const client = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, setting.user.token)
await client.lock()
const { attributes: state } = await client.create(rawState(), { state: undefined })
const { attributes: version } = await createConfigurationVersion(app, setting)
const other = await createRunSetting(app)
await createRun(app, other)
const job = await agent.take()

const zeros = Buffer.alloc(512 * 1024 * 1024)
const gzipped = gzipSync(zeros)
const gzippedTwice = gzipSync(gzipped)
const BOMBS = {
  gzip: gzipped,
  'x-gzip, gzip': gzippedTwice,
  deflate: deflateSync(zeros),
  br: brotliCompressSync(zeros, { params: { 1: 1 } }),
  zstd: zstdCompressSync(zeros),
}
/** In bytes; unpacked, each body would take more. */
const MAX_RISE = 200 * 1024 * 1024
const jobs = `/api/agent/v1/jobs/${job.id}`
const BODIES = [
  ['JSON', 'POST', `/api/v2/workspaces/${setting.workspaceId}/vars`, setting.user.token],
  ['an inline state', 'POST', `/api/v2/workspaces/${setting.workspaceId}/state-versions`, setting.user.token],
  ['a state', 'PUT', new URL(state['hosted-state-upload-url']).pathname, undefined],
  ['a JSON state', 'PUT', new URL(state['hosted-json-state-upload-url']).pathname, undefined],
  ['an archive', 'PUT', new URL(version['upload-url']).pathname, undefined],
  ['a log', 'PUT', `${jobs}/log?offset=0`, job.token],
  ['a plan', 'PUT', `${jobs}/artifacts/plan-json`, job.token],
  ['a result', 'POST', `${jobs}/result`, job.token],
] as const

async function send(
  method: 'POST' | 'PUT',
  path: string,
  { body, headers }: { body: Buffer; headers: Record<string, string> },
) {
  const response = await request(url + path, { method, body, headers })
  const { errors } = (await response.body.json()) as { errors: { detail: string }[] }
  return `${response.statusCode} ${errors[0]?.detail}`
}

async function riseOf(work: () => Promise<unknown>) {
  const before = process.memoryUsage().rss
  await work()
  return process.memoryUsage().rss - before
}

test.each(BODIES)('%s in a compressed body is refused, and not unpacked', async (_, method, path, token) => {
  const details: string[] = []

  const rise = await riseOf(async () => {
    for (const [encoding, body] of Object.entries(BOMBS)) {
      const headers = {
        'content-type': 'application/vnd.api+json',
        'content-encoding': encoding,
        authorization: `Bearer ${token}`,
      }
      details.push(await send(method, path, { body, headers }))
    }
  })

  const expected = Object.keys(BOMBS).map((encoding) =>
    expect.stringContaining(`415 the content-encoding is ${encoding}`),
  )
  expect(details).toEqual(expected)
  expect(rise).toBeLessThan(MAX_RISE)
})

test.each(['', 'Identity'])('the content-encoding %j is none', async (encoding) => {
  const headers = { 'content-type': 'application/vnd.api+json', 'content-encoding': encoding }

  const response = await request(`${url}/api/v2/organizations`, { method: 'POST', body: '{}', headers })

  expect(response.statusCode).toBe(401)
})

test.each([
  ['a file of two gigabytes', bombOf(2), '422 the archive unpacks to more than 1073741824 bytes'],
  ['zeros after its end', gzipped, '422 the archive has more than 1048576 bytes after its end marker'],
  ['an archive', gzippedTwice, '422 the archive is compressed twice'],
])(
  'an archive with %s is refused within limits',
  async (_, body, detail) => {
    const { attributes } = await createConfigurationVersion(app, setting)
    const path = new URL(attributes['upload-url']).pathname
    let refused = ''

    const rise = await riseOf(async () => (refused = await send('PUT', path, { body, headers: {} })))

    expect(refused).toBe(detail)
    expect(rise).toBeLessThan(MAX_RISE)
  },
  60_000,
)

function bombOf(gigabytes: number) {
  const header = Buffer.alloc(512)
  new Header({ path: 'bomb', type: 'File', mode: 0o644, size: gigabytes * 1024 ** 3 }).encode(header)
  // A gzip file may have several members.
  return Buffer.concat([gzipSync(header), ...Array.from({ length: gigabytes * 2 }, () => gzipped)])
}
