import { expect, test } from 'vitest'
import { z } from 'zod'
import { HostError } from './host.ts'
import { type JsonHost, readPages, request, requestJson } from './json-requests.ts'
import { connectionTo, startHostServer } from './testing/host-server.ts'

const DATE = 'Thu, 12 Mar 2026 17:00:00 GMT'

async function setUp() {
  const server = await startHostServer()
  const host: JsonHost = { name: 'Example', connection: connectionTo(server), headers: {} }
  const failure = async (reply: Parameters<typeof server.reply>[1], secret?: string) => {
    server.reply('GET /thing', reply)
    const sent = requestJson(host, { task: 'read the thing', url: `${server.url}/thing`, secret })
    return sent.then(
      () => expect.fail('the request succeeded'),
      (error: unknown) => {
        if (error instanceof HostError) return error
        throw error
      },
    )
  }
  return { server, host, failure }
}

test.each([
  [{ status: 401, body: { message: '401 Unauthorized' } }, 'unauthorised', 'refused the token (401 Unauthorized)'],
  [{ status: 403, body: {} }, 'forbidden', 'does not permit it for this token'],
  [{ status: 404, text: '<html>' }, 'not-found', 'has no such thing, or none that the token may read'],
  [
    { status: 422, body: { errors: [{ message: 'name is too long' }] } },
    'forbidden',
    'refused it with status 422 (name is too long)',
  ],
  [{ status: 502, text: '<html>Bad Gateway</html>' }, 'unavailable', 'responded with status 502'],
  [{ text: '<!DOCTYPE html><title>Sign in</title>' }, 'unavailable', 'sent a response that is not JSON'],
  [{ text: '{"id": 1, "name": "tru' }, 'unavailable', 'sent a response that is not JSON'],
] as const)('the reply %j is an error of a kind', async (reply, kind, reason) => {
  const { failure } = await setUp()

  expect(await failure(reply)).toMatchObject({ kind, message: `could not read the thing: Example ${reason}` })
})

test.each([
  [{ status: 429, headers: { 'retry-after': '7' } }, 7000],
  [{ status: 403, headers: { 'retry-after': '7' } }, 7000],
  [{ status: 429, headers: { date: DATE, 'retry-after': 'Thu, 12 Mar 2026 17:02:00 GMT' } }, 120_000],
  [{ status: 429, headers: { date: DATE, 'ratelimit-reset': String(Date.parse(DATE) / 1000 + 30) } }, 30_000],
  [{ status: 429, headers: { date: DATE, 'retry-after': 'Thu, 12 Mar 2026 16:00:00 GMT' } }, 0],
  [{ status: 429, headers: { 'retry-after': 'soon' } }, 60_000],
  [{ status: 429, headers: { 'retry-after': '999999999' } }, 3_600_000],
])('the limit %j tells when to continue', async (reply, retryAfterMs) => {
  const { failure } = await setUp()

  expect(await failure(reply)).toMatchObject({ kind: 'rate-limited', retryAfterMs })
})

test('a host that is down for a while says until when', async () => {
  const { failure } = await setUp()

  const error = await failure({ status: 503, headers: { 'retry-after': '30' } })

  expect(error).toMatchObject({ kind: 'unavailable', retryAfterMs: 30_000 })
})

test('messages of the host never show the token or the secret of a webhook', async () => {
  const { failure } = await setUp()

  const error = await failure({ status: 400, body: { message: 'token-of-the-connection, s3cret' } }, 's3cret')

  expect(error.message).toContain('(***, ***)')
})

test('a connection that is refused, or closed in the middle of a body, is an error of the host', async () => {
  const { host, failure } = await setUp()
  const closed = await failure({ headers: { 'content-length': '9', connection: 'close' }, text: '{"a":1' }).catch(
    (error: unknown) => error,
  )

  expect(closed).toMatchObject({ kind: 'unavailable' })
  await expect(requestJson(host, { task: 'read it', url: 'http://127.0.0.1:1/' })).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringMatching(/^could not read it: Example did not respond \(/),
  })
})

test('a list that never ends is an error', async () => {
  const { host } = await setUp()

  const read = readPages(host, 'list things', 1, async (page) => Promise.resolve({ rows: [page], next: page + 1 }))

  await expect(read).rejects.toMatchObject({
    kind: 'unavailable',
    message: 'could not list things: Example has more than 100 pages of them',
  })
})

test('a response of another shape names the member', async () => {
  const { server, host } = await setUp()
  server.reply('GET /thing', { body: { owner: { name: 5 } } })

  const schema = z.looseObject({ owner: z.looseObject({ name: z.string() }) })
  const sent = request(host, schema, { task: 'read the thing', url: `${server.url}/thing` })

  await expect(sent).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('sent an unexpected response at owner.name: '),
  })
})

test('an endless response is not read to its end', async () => {
  const { failure } = await setUp()

  const error = await failure({ text: `"${'x'.repeat(17 * 1024 * 1024)}"` })

  expect(error.message).toContain('larger than')
})

test('an identifier with dots never changes the address', async () => {
  const { server, host } = await setUp()

  const sent = requestJson(host, { task: 'read the repository ../user', url: `${server.url}/repositories/../user` })

  await expect(sent).rejects.toMatchObject({ kind: 'not-found' })
  expect(server.requests).toHaveLength(0)
})

test('only reads follow redirects', async () => {
  const { server, host } = await setUp()
  server.reply('GET /old', { status: 301, headers: { location: '/new' } })
  server.reply('POST /old', { status: 301, headers: { location: '/new' } })
  server.reply('GET /new', { body: { id: 1 } })
  const url = `${server.url}/old`

  expect((await requestJson(host, { task: 'read it', url })).body).toEqual({ id: 1 })
  await expect(requestJson(host, { task: 'write it', url, method: 'POST', body: {} })).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('status 301, a redirect to /new'),
  })
})
