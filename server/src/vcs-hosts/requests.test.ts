import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createOutbound } from '../outbound/outbound.ts'
import { bitbucketCloud } from './bitbucket-cloud/api.ts'
import { gitea } from './gitea/api.ts'
import { github } from './github/api.ts'
import { gitlab } from './gitlab/api.ts'
import { HostError } from './host.ts'
import { type ApiHost, nextPage, readPages, request, requestJson, undefinedIfMissing } from './requests.ts'
import { type HostReply, startFakeHost } from './testing/fake-host.ts'

const FETCH = { method: 'GET', headers: {}, timeoutMs: 5000 } as const
const NOW = 'Fri, 20 Nov 2026 09:00:00 GMT'
const inFiveMinutes = String(Date.parse(NOW) / 1000 + 300)

const HOSTS = { bitbucketCloud, gitea, github, gitlab }

describe.each(Object.entries(HOSTS))('a request of %s', (name, host) => {
  async function failure(reply: HostReply) {
    const { connection, requests } = await startFakeHost({ 'GET /user': () => reply })
    const error: unknown = await host
      .api?.(connection)
      .readUser()
      .catch((error: unknown) => error)
    if (!(error instanceof HostError)) throw new Error(`${name} threw ${String(error)}`)
    const place = `${host.name} (${new URL(connection.apiUrl).host})`
    expect(error.message).toContain(`could not read the user of the token: ${place} `)
    return Object.assign(error, { requests })
  }

  test.each<[string, HostError['kind'], HostReply]>([
    ['401', 'unauthorised', { status: 401, body: { message: 'Bad credentials' } }],
    ['403', 'forbidden', { status: 403, body: { message: 'Resource not accessible by integration' } }],
    ['404', 'not-found', { status: 404, body: { message: 'Not Found' } }],
    ['422', 'forbidden', { status: 422, body: { message: 'Validation Failed' } }],
    ['500', 'unavailable', { status: 500, body: { message: 'Server Error' } }],
    ['502 with a page', 'unavailable', { status: 502, headers: { 'content-type': 'text/html' }, body: '<html>' }],
    ['a page', 'unavailable', { headers: { 'content-type': 'text/html' }, body: '<html>Sign in</html>' }],
    ['a page as JSON', 'unavailable', { body: '<html>Sign in</html>' }],
    ['truncated JSON', 'unavailable', { body: '{"login": "mo' }],
    ['another document', 'unavailable', { body: { links: 5 } }],
    ['a list', 'unavailable', { body: [] }],
    ['an empty body', 'unavailable', { body: '' }],
    ['no content', 'unavailable', { status: 204 }],
    ['a closed connection', 'unavailable', (response) => response.destroy()],
    [
      'a body that is cut off',
      'unavailable',
      (response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' })
        response.write('{"login":', () => response.destroy())
      },
    ],
  ])('that gets %s is %s', async (_, kind, reply) => {
    expect(await failure(reply)).toMatchObject({ kind, retryAfterMs: undefined })
  })

  test('that gets no JSON says so', async () => {
    expect((await failure({ body: '<html>Sign in</html>' })).message).toContain('not JSON')
  })

  test('that nothing listens for is unavailable, with the reason', async () => {
    const connection = { httpUrl: '', apiUrl: 'http://127.0.0.1:1', token: 'the-token', username: null, fetch }

    await expect(host.api?.(connection).readUser()).rejects.toMatchObject({
      kind: 'unavailable',
      message: expect.stringMatching(/did not respond \(.+\)/),
    })
  })

  test('sends the token to no other address', async () => {
    const other = await startFakeHost({ 'GET /user': () => ({ body: { login: 'mona' } }) })

    const error = await failure({ status: 301, headers: { location: `${other.url}/user` } })

    expect(other.requests).toEqual([])
    expect(error).toMatchObject({ kind: 'unavailable', message: expect.stringContaining(`${other.url}/user`) })
  })

  test('does not redirect forever', async () => {
    const { requests } = await failure({ status: 302, headers: { location: '/user' } })

    expect(requests).toHaveLength(4)
  })
})

async function setUp(reply: HostReply = {}) {
  const server = await startFakeHost({ 'GET /thing': () => reply })
  const host: ApiHost = { name: 'Example', connection: server.connection }
  const input = { task: 'read the thing', url: `${server.url}/thing` }
  return { server, host, input, place: `Example (${new URL(server.url).host})` }
}

test.each<[HostReply, HostError['kind'], string]>([
  [{ status: 401, body: { message: '401 Unauthorized' } }, 'unauthorised', 'refused the token (401 Unauthorized)'],
  [{ status: 403, body: {} }, 'forbidden', 'does not permit it for this token'],
  [{ status: 404, body: '<html>' }, 'not-found', 'has no such thing, or none that the token may read'],
  [
    { status: 422, body: { errors: [{ message: 'name is too long' }] } },
    'forbidden',
    'refused it with status 422 (name is too long)',
  ],
  [{ status: 502, body: '<html>Bad Gateway</html>' }, 'unavailable', 'responded with status 502'],
  [{ body: '<!DOCTYPE html><title>Sign in</title>' }, 'unavailable', 'sent a response that is not JSON'],
])('the reply %j is explained', async (reply, kind, reason) => {
  const { host, input, place } = await setUp(reply)

  await expect(requestJson(host, input)).rejects.toMatchObject({
    kind,
    message: `could not read the thing: ${place} ${reason}`,
  })
})

const limit = { date: NOW, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': inFiveMinutes }
test.each<[HostReply, number]>([
  [{ status: 429, headers: { 'retry-after': '7' } }, 7000],
  [{ status: 403, headers: { 'retry-after': '7' } }, 7000],
  [{ status: 429, headers: { date: NOW, 'retry-after': 'Fri, 20 Nov 2026 09:02:00 GMT' } }, 120_000],
  [{ status: 429, headers: { date: NOW, 'ratelimit-reset': inFiveMinutes } }, 300_000],
  [{ status: 403, headers: limit }, 300_000],
  [{ status: 403, headers: { ...limit, 'x-ratelimit-reset': '1' } }, 60_000],
  [{ status: 403, body: { message: 'You have exceeded a secondary rate limit.' } }, 60_000],
  [{ status: 429, headers: { date: NOW, 'retry-after': 'Fri, 20 Nov 2026 08:00:00 GMT' } }, 60_000],
  [{ status: 429, headers: { 'retry-after': '0' } }, 1000],
  [{ status: 429, headers: { 'retry-after': 'soon' } }, 60_000],
  [{ status: 429, headers: { 'retry-after': '999999999' } }, 3_600_000],
  [{ status: 429 }, 60_000],
])('the limit %j tells when to continue', async (reply, retryAfterMs) => {
  const { host, input } = await setUp(reply)

  await expect(requestJson(host, input)).rejects.toMatchObject({ kind: 'rate-limited', retryAfterMs })
})

test('a host that is down for a while says until when', async () => {
  const { host, input } = await setUp({ status: 503, headers: { 'retry-after': '30' } })

  await expect(requestJson(host, input)).rejects.toMatchObject({ kind: 'unavailable', retryAfterMs: 30_000 })
})

test('a short secret is hidden as a word, and does not mangle others', async () => {
  const { host, input } = await setUp({ status: 400, body: { message: 'not e, but the' } })

  await expect(requestJson(host, { ...input, secrets: ['e'] })).rejects.toThrow('(not ***, but the)')
})

test('messages of the host never show the token or the secret of a webhook', async () => {
  const { host, input } = await setUp({ status: 400, body: { message: 'the-token, s3cret' } })

  await expect(requestJson(host, { ...input, secrets: ['s3cret'] })).rejects.toThrow('(***, ***)')
})

test('a host that does not respond is unavailable', async () => {
  const { host, input } = await setUp(() => undefined)
  await using outbound = createOutbound({ allowPrivate: true })
  const send: typeof fetch = async (url, init) =>
    outbound.fetch(url as string, { ...FETCH, signal: init?.signal ?? undefined })

  const connection = { ...host.connection, fetch: send, timeoutMs: 50 }
  await expect(requestJson({ ...host, connection }, input)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('no response within 0.05 s'),
  })
})

test('a response of another shape names the member', async () => {
  const { host, input } = await setUp({ body: { owner: { name: 5 } } })

  const schema = z.looseObject({ owner: z.looseObject({ name: z.string() }) })

  await expect(request(host, schema, input)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('sent an unexpected response at owner.name: '),
  })
})

test('characters of a response that cannot be stored are replaced', async () => {
  const { connection } = await startFakeHost({
    'GET /a': () => ({ body: String.raw`{"title":"\u0000 \uD83D \uD83D\uDE00 \\u0000 \\\u0000 \udE00\""}` }),
  })

  const found = request({ name: 'Host', connection }, z.object({ title: z.string() }), {
    url: `${connection.apiUrl}/a`,
    task: 'read it',
  })

  expect(await found).toEqual({ title: '\ufffd \ufffd 😀 \\u0000 \\\ufffd \ufffd"' })
})

test('an endless response is not read to its end', async () => {
  const { host, input } = await setUp({ body: `"${'x'.repeat(17 * 1024 * 1024)}"` })

  await expect(requestJson(host, input)).rejects.toThrow('larger than')
})

test('an identifier with dots never changes the address', async () => {
  const { host, server } = await setUp()

  const sent = requestJson(host, { task: 'read the repository ../user', url: `${server.url}/repositories/../user` })

  await expect(sent).rejects.toMatchObject({ kind: 'not-found' })
  expect(server.requests).toHaveLength(0)
})

test('reads follow redirects, writes only those that repeat them', async () => {
  const { host, server } = await setUp()
  server.reply('GET /old', { status: 301, headers: { location: '/new' } })
  server.reply('POST /old', { status: 301, headers: { location: '/new' } })
  server.reply('POST /moved', { status: 307, headers: { location: '/new' } })
  server.reply('GET /new', { body: { id: 1 } })
  server.reply('POST /new', { body: { id: 2 } })
  const url = `${server.url}/old`
  const post = { task: 'write it', method: 'POST', body: { name: 'a' } }

  expect((await requestJson(host, { task: 'read it', url })).body).toEqual({ id: 1 })
  expect((await requestJson(host, { ...post, url: `${server.url}/moved` })).body).toEqual({ id: 2 })
  expect(server.bodies('POST /new')).toEqual([{ name: 'a' }])
  await expect(requestJson(host, { ...post, url })).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining(`redirects to ${server.url}/new (301)`),
  })
})

describe('the next page', () => {
  test.each<[string | null, number | null]>([
    ['<https://api.github.com/user/repos?page=3&per_page=100>; rel="next", <https://x/?page=9>; rel="last"', 3],
    ['<https://x/?page=1>; rel="prev", </repos?limit=50&page=3>; rel=next', 3],
    ['<https://x/?page=1>; rel="first", <https://x/?page=9>; rel="last"', null],
    ['<https://x/?cursor=abc>; rel="next"', null],
    ['<https://x/?page=-1>; rel="next"', null],
    ['nonsense', null],
    [null, null],
  ])('of %s is %s', (link, page) => {
    expect(nextPage(link)).toBe(page)
  })

  test('of a host whose list never ends is an error', async () => {
    const endless = readPages('list hooks', async (page) => Promise.resolve({ data: [page], next: page + 1 }))

    await expect(endless).rejects.toMatchObject({
      kind: 'unavailable',
      message: 'could not list hooks: there are more than 100 pages',
    })
  })
})

test('only what does not exist is undefined', async () => {
  expect(await undefinedIfMissing(Promise.reject(new HostError('not-found', 'x')))).toBeUndefined()
  await expect(undefinedIfMissing(Promise.reject(new HostError('forbidden', 'x')))).rejects.toThrow('x')
})
