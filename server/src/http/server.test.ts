import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { sql } from 'kysely'
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { exchange } from '../testing/exchange.ts'
import { createOrganization, createUser, createWorkspace } from '../testing/factories.ts'

const lines: Record<string, unknown>[] = []
const waiting: { isWanted: (line: Record<string, unknown>) => boolean; resolve: () => void }[] = []
const log = pino({ level: 'info' }, { write: (line: string) => addLine(JSON.parse(line)) })

const app = await createTestApp({}, { log })
const user = await createUser(app)
const organization = await createOrganization(app, user)
const workspace = await createWorkspace(app, { organization: organization.name, actor: user.actor })
const base = new URL(await app.listen())
const organizationUrl = `/api/v2/organizations/${organization.name}`

test('a full disk returns 503 with Retry-After', async () => {
  await sql`
    create function refuse() returns trigger language plpgsql
        as $$ begin raise exception 'could not extend file' using errcode = 'disk_full'; end $$`.execute(app.db)
  await sql`
    create trigger refuse before insert on organizations execute function refuse()`.execute(app.db)

  const body = { data: { type: 'organizations', attributes: { name: 'no-room', email: 'a@example.com' } } }
  const res = await app.request({ method: 'POST', url: '/api/v2/organizations', token: user.token, body })
  await sql`drop function refuse cascade`.execute(app.db)

  expect(res.status).toBe(503)
  expect(res.headers['retry-after']).toBe('10')
  expect(res.json().errors[0].detail).toBe('the disk of the database is full, so nothing was stored')
})

describe('invalid requests', () => {
  test.each([
    ['a path that is not UTF-8', 'GET /api/v2/workspaces/%ff HTTP/1.1\r\nHost: x\r\n', 400],
    ['a path with a lone percent', 'GET /api/v2/workspaces/% HTTP/1.1\r\nHost: x\r\n', 400],
    ['a null character in the path', 'GET /api/v2/workspaces/%00 HTTP/1.1\r\nHost: x\r\n', 400],
    ['an id longer than any', `GET /api/v2/workspaces/${'a'.repeat(2000)} HTTP/1.1\r\nHost: x\r\n`, 404],
    ['headers larger than 16 KiB', `GET /api/v2/ping HTTP/1.1\r\nHost: x\r\nX-Large: ${'a'.repeat(20_000)}\r\n`, 431],
    ['no HTTP', 'HELLO\r\n', 400],
    [
      'both lengths',
      'POST /api/v2/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n',
      400,
    ],
    ['an unknown method', 'BREW /api/v2/ping HTTP/1.1\r\nHost: x\r\n', 400],
    ['a length that is no number', 'POST /api/v2/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 5x\r\n', 400],
    ['two lengths', 'POST /api/v2/sessions HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n', 400],
    [
      'an encoding twice',
      'POST /api/v2/sessions HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n',
      400,
    ],
    ['a token that is no text', 'GET /api/v2/organizations HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer \xff\r\n', 401],
    ['a cookie that is no text', 'GET /api/v2/organizations HTTP/1.1\r\nHost: x\r\nCookie: =;%00;\xff;;=\r\n', 401],
    ['a large cookie', `GET /api/v2/organizations HTTP/1.1\r\nHost: x\r\nCookie: ${'x=1; '.repeat(3000)}\r\n`, 401],
    [
      'a method in a header',
      'POST /api/v2/account/details HTTP/1.1\r\nHost: x\r\nX-HTTP-Method-Override: GET\r\nContent-Length: 0\r\n',
      404,
    ],
    ['OPTIONS of everything', 'OPTIONS * HTTP/1.1\r\nHost: x\r\n', 404],
  ])('%s returns an error document', async (_, head, status) => {
    const response = await exchange(base, `${head}Connection: close\r\n\r\n`)

    expect(response.status).toBe(status)
    expect(JSON.parse(response.body).errors[0]).toMatchObject({ status: String(status), detail: expect.any(String) })
    expect(response.head).toContain('content-type: application/vnd.api+json\r\n')
    expect(response.head).toContain('tfp-api-version: 2.6\r\n')
  })

  test('an invalid token is reported before an invalid body', async () => {
    const anonymous = await app.request({ method: 'POST', url: '/api/v2/organizations', body: '{' })
    const known = await app.request({ method: 'POST', url: '/api/v2/organizations', body: '{', token: user.token })

    expect(anonymous.status).toBe(401)
    expect(known.status).toBe(422)
  })

  test.each([
    ['not JSON', '{"data":', 'the body is not valid JSON: '],
    ['not UTF-8', Buffer.from([0x22, 0xff, 0x22]), 'the body is not valid UTF-8'],
    ['nested too deep', '['.repeat(200) + ']'.repeat(200), 'the body is nested deeper than 100 levels'],
  ])('a body that is %s has the same error as one without fields', async (_, body, detail) => {
    const response = await app.request({ method: 'POST', url: '/api/v2/organizations', body, token: user.token })

    expect(response.status).toBe(422)
    expect(response.json().errors).toEqual([
      { status: '422', title: 'invalid attribute', detail: expect.stringContaining(detail), source: { pointer: '' } },
    ])
  })

  test('a text that cannot be stored is rejected with its pointer', async () => {
    const body = String.raw`{"data":{"type":"organizations","attributes":{"name":"a","e/mail":["x","\ud800"]}}}`

    const response = await app.request({ method: 'POST', url: '/api/v2/organizations', body, token: user.token })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source).toEqual({ pointer: '/data/attributes/e~1mail/1' })
  })

  test('an escaped backslash before u0000 is valid text', async () => {
    const body = String.raw`{"data":{"type":"workspaces","attributes":{"description":"\\u0000 😀"}}}`

    const url = `/api/v2/workspaces/${workspace.id}`
    const response = await app.request({ method: 'PATCH', url, body, token: user.token })

    expect(response.status).toBe(200)
    expect(response.json().data.attributes.description).toBe(String.raw`\u0000 😀`)
  })

  test('JSON that curl sends as a form is read as JSON', async () => {
    const url = `/api/v2/workspaces/${workspace.id}`
    const body = '{"data":{"type":"workspaces","attributes":{"description":"from a shell"}}}'
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }

    const response = await app.request({ method: 'PATCH', url, body, headers, token: user.token })

    expect(response.json().data.attributes.description).toBe('from a shell')
  })
})

describe('valid requests', () => {
  test('a trailing slash is ignored', async () => {
    const response = await app.request({ url: `${organizationUrl}/`, token: user.token })

    expect(response.status).toBe(200)
  })

  test('HEAD has the headers of GET and no body', async () => {
    const get = await app.request({ url: organizationUrl, token: user.token })
    const head = await app.request({ method: 'HEAD', url: organizationUrl, token: user.token })

    expect(head.status).toBe(200)
    expect(head.bytes).toHaveLength(0)
    expect(head.headers['content-length']).toBe(String(get.bytes.length))
    expect(head.headers['etag']).toBe(get.headers['etag'])
  })

  test('a CORS preflight is not allowed', async () => {
    const headers = { origin: 'https://elsewhere.example', 'access-control-request-method': 'DELETE' }
    const response = await app.request({ method: 'OPTIONS', url: organizationUrl, headers })

    expect(response.status).toBe(404)
    expect(Object.keys(response.headers).filter((name) => name.startsWith('access-control'))).toEqual([])
  })

  test('a repeated parameter counts with its last value', async () => {
    const response = await app.request({ url: '/api/v2/organizations?page[size]=x&page[size]=1', token: user.token })

    expect(response.json().meta.pagination['page-size']).toBe(1)
  })

  test('links of a list keep a question mark within a parameter', async () => {
    const response = await app.request({ url: '/api/v2/organizations?q=a?b', token: user.token })

    expect(new URL(response.json().links.first, base).searchParams.get('q')).toBe('a?b')
  })

  test('one connection serves many requests, also after an error', async () => {
    const request = (path: string) => `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\n`

    const response = await exchange(
      base,
      `${request('/api/v2/nothing')}\r\n${request('/api/v2/ping')}\r\n${request(organizationUrl)}Connection: close\r\n\r\n`,
    )

    expect(response.raw.match(/HTTP\/1\.1 \d+/g)).toEqual(['HTTP/1.1 404', 'HTTP/1.1 204', 'HTTP/1.1 200'])
  })
})

describe('a client that disconnects', () => {
  test('during a body is logged, not reported as a bug', async () => {
    const url = `/api/v2/workspaces/${workspace.id}`

    await leaveIn('PATCH', url)

    expect(requestsOf(url).at(-1)).toMatchObject({ method: 'PATCH', status: 499 })
    expect(bugs()).toEqual([])
    expect(lines.filter(({ path, level }) => path === url && Number(level) > 30)).toEqual([])
  })

  test('during an upload may retry', async () => {
    const versions = `/api/v2/workspaces/${workspace.id}/configuration-versions`
    const body = { data: { type: 'configuration-versions', attributes: { 'auto-queue-runs': false } } }
    const created = await app.request({ method: 'POST', url: versions, body, token: user.token })
    const { pathname } = new URL(created.json().data.attributes['upload-url'])

    await leaveIn('PUT', pathname)
    const again = await app.request({ method: 'PUT', url: pathname, body: emptyArchive() })

    expect(requestsOf('/_objects/configurations/:token').map(({ status }) => status)).toEqual([499, 200])
    expect(again.status).toBe(200)
    expect(bugs()).toEqual([])
  })
})

describe('ETags', () => {
  test('unchanged content is not sent again', async () => {
    const first = await app.request({ url: organizationUrl, token: user.token })
    const tag = String(first.headers['etag'])

    const again = await app.request({
      url: organizationUrl,
      token: user.token,
      headers: { 'if-none-match': `"other", ${tag}` },
    })
    const other = await app.request({
      url: organizationUrl,
      token: user.token,
      headers: { 'if-none-match': '"other"' },
    })

    expect(tag).toMatch(/^W\/"[\w-]{27}"$/)
    expect(again).toMatchObject({ status: 304, text: '' })
    expect(again.headers['etag']).toBe(tag)
    expect(other.status).toBe(200)
  })

  test('writes and errors have none', async () => {
    const url = `/api/v2/workspaces/${workspace.id}`
    const body = { data: { type: 'workspaces', attributes: { description: 'x' } } }

    const changed = await app.request({ method: 'PATCH', url, body, token: user.token })
    const refused = await app.request({ url: '/api/v2/workspaces/ws-none', token: user.token })

    expect(changed.headers['etag']).toBeUndefined()
    expect(refused.headers['etag']).toBeUndefined()
  })
})

describe('the request log', () => {
  test('has one line per request, with actor and path', async () => {
    lines.length = 0

    const response = await app.request({ url: `${organizationUrl}?q=secret-query`, token: user.token })

    const own = lines.filter((line) => line['msg'] === 'request')
    expect(own).toEqual([
      expect.objectContaining({
        request: response.headers['x-request-id'],
        method: 'GET',
        path: organizationUrl,
        status: 200,
        ms: expect.any(Number),
        actor: 'user',
        id: user.id,
        bytes: response.bytes.length,
      }),
    ])
  })

  test('omits successful polls', async () => {
    lines.length = 0

    for (const url of ['/healthz', '/readyz', '/metrics']) await app.request({ url })
    await app.request({ method: 'POST', url: '/api/agent/v1/jobs/job-none/heartbeat', body: {} })

    expect(lines.map((line) => [line['path'], line['status']])).toEqual([
      ['/api/agent/v1/jobs/job-none/heartbeat', expect.any(Number)],
    ])
  })

  test('contains no token, password, signature or variable value', async () => {
    lines.length = 0
    const secrets = ['hunter2-password', 'value-of-a-variable', 'a-query-value', user.token]
    const signed = app.secrets.signPath({ purpose: 'log', id: 'plan-1', expiresAt: new Date(Date.now() + 60_000) })
    const session = { data: { type: 'sessions', attributes: { username: user.username, password: secrets[0] } } }
    const variable = (category: string) => ({
      data: { type: 'vars', attributes: { key: 'k', value: secrets[1], category, sensitive: true } },
    })
    const vars = `/api/v2/workspaces/${workspace.id}/vars`

    await app.request({ method: 'POST', url: '/api/v2/sessions', body: session })
    await app.request({ method: 'POST', url: vars, body: variable('env'), token: user.token })
    await app.request({ method: 'POST', url: vars, body: variable('nonsense'), token: user.token })
    await app.request({
      method: 'POST',
      url: vars,
      body: JSON.stringify(variable('env')).slice(0, -1),
      token: user.token,
    })
    await app.request({ url: `/api/v2/organizations?q=${secrets[2]}&token=${user.token}`, token: user.token })
    await app.request({ url: '/api/v2/organizations', token: `${user.token.slice(0, -1)}x` })
    for (const directory of [
      '_objects/logs',
      '_objects/v1/object',
      '%5Fobjects/logs',
      '_objects',
      '_objects/nowhere/else',
    ]) {
      await app.request({ url: `/${directory}/${signed}?limit=1` })
      await app.request({ method: 'PUT', url: `/${directory}/${signed}`, body: 'x' })
    }

    const written = lines.map((line) => JSON.stringify(line)).join('\n')
    expect(lines).toHaveLength(16)
    for (const secret of [...secrets, signed, signed.split('.').at(-1), user.token.slice(0, 30)]) {
      expect(written).not.toContain(secret)
    }
  })
})

function addLine(line: Record<string, unknown>) {
  lines.push(line)
  for (const { resolve } of waiting.filter(({ isWanted }) => isWanted(line))) resolve()
}

async function lineWhere(isWanted: (line: Record<string, unknown>) => boolean) {
  const { promise, resolve } = Promise.withResolvers<void>()
  waiting.push({ isWanted, resolve })
  return promise
}

/** Sends the head of a request and one byte of its body, disconnects, and waits until the server has noticed. */
async function leaveIn(method: string, path: string) {
  const noticed = lineWhere((line) => line['status'] === 499)
  const { promise: begun, resolve } = Promise.withResolvers<void>()
  app.server.fastify.server.once('request', (request: IncomingMessage) =>
    // The server begins to read the body.
    request.on('newListener', (event) => ['data', 'readable'].includes(String(event)) && resolve()),
  )
  const socket = connect(Number(base.port), base.hostname)
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${user.token}\r\nContent-Length: 99\r\n\r\n{`,
  )
  await begun
  socket.destroy()
  await noticed
}

function requestsOf(path: string) {
  return lines.filter((line) => line['msg'] === 'request' && line['path'] === path)
}

function bugs() {
  return lines.filter((line) => line['msg'] === 'bug')
}

/** The end of a tar archive is two blocks of zeros. */
function emptyArchive() {
  return gzipSync(Buffer.alloc(1024))
}
