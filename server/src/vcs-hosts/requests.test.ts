import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { gitea } from './gitea/api.ts'
import { github } from './github/api.ts'
import { HostError } from './host.ts'
import { createRequests, nextPage, readPages, undefinedIfMissing } from './requests.ts'
import { type HostReply, startFakeHost } from './testing/fake-host.ts'

const NOW = 'Fri, 20 Nov 2026 09:00:00 GMT'
const inFiveMinutes = Date.parse(NOW) / 1000 + 300

const HOSTS = { github, gitea }

describe.each(Object.entries(HOSTS))('a request of %s', (name, host) => {
  async function failure(reply: HostReply) {
    const { connection, requests } = await startFakeHost({ 'GET /user': () => reply })
    const error: unknown = await host
      .api?.(connection)
      .readUser()
      .catch((error: unknown) => error)
    if (!(error instanceof HostError)) throw new Error(`${name} threw ${String(error)}`)
    expect(error.message).toContain(`${host.name} (${new URL(connection.apiUrl).host})`)
    expect(error.message).toContain('could not read the user of the token')
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
    ['another document', 'unavailable', { body: { ok: true } }],
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

  test('that nothing listens for is unavailable, with the reason', async () => {
    const connection = { httpUrl: '', apiUrl: 'http://127.0.0.1:9', token: 't', username: null, fetch }

    await expect(host.api?.(connection).readUser()).rejects.toMatchObject({ kind: 'unavailable' })
  })

  test('that gets no JSON says so', async () => {
    expect((await failure({ body: '<html>Sign in</html>' })).message).toContain('it is not JSON')
  })

  test('that is refused says why', async () => {
    const { message } = await failure({ status: 403, body: { message: 'Must have admin rights' } })

    expect(message).toContain('Must have admin rights')
  })

  const limit = { date: NOW, 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(inFiveMinutes) }
  test.each<[string, number, HostReply]>([
    ['429', 60_000, { status: 429, headers: { 'retry-after': '60' } }],
    [
      '429 with a date',
      120_000,
      { status: 429, headers: { date: NOW, 'retry-after': 'Fri, 20 Nov 2026 09:02:00 GMT' } },
    ],
    ['429 without a time', 60_000, { status: 429 }],
    ['403 and Retry-After', 30_000, { status: 403, headers: { 'retry-after': '30' } }],
    ['403 and a used-up limit', 300_000, { status: 403, headers: limit }],
    [
      '403 and a limit with a reset in the past',
      60_000,
      { status: 403, headers: { ...limit, 'x-ratelimit-reset': '1' } },
    ],
    ['403 and a message', 60_000, { status: 403, body: { message: 'You have exceeded a secondary rate limit.' } }],
    ['429 and an hour at most', 3_600_000, { status: 429, headers: { 'retry-after': '999999999' } }],
  ])('that gets %s may be sent again after %i ms', async (_, retryAfterMs, reply) => {
    expect(await failure(reply)).toMatchObject({ kind: 'rate-limited', retryAfterMs })
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

test('a host that does not respond is unavailable', async () => {
  const { connection } = await startFakeHost({ 'GET /user': () => () => undefined })
  const requests = createRequests('GitHub', connection, 50)

  await expect(requests.fetchFor('read the user')(`${connection.apiUrl}/user`)).rejects.toMatchObject({
    kind: 'unavailable',
    message: expect.stringContaining('could not read the user: no response within 0.05 s'),
  })
})

test('an unexpected response is described', () => {
  const requests = createRequests('Gitea', { apiUrl: 'https://git.example/api/v1', fetch })

  expect(() => requests.parse('read the user', z.object({ login: z.string() }), {})).toThrow(
    /Gitea \(git.example\).*login/s,
  )
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
    const endless = readPages('list hooks', async (page) => ({ data: [page], next: page + 1 }))

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
