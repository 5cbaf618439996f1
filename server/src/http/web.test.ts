import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { exchange } from '../testing/exchange.ts'

const webDist = await mkdtemp(join(tmpdir(), 'groundstate-web-'))
afterAll(() => rm(webDist, { recursive: true, force: true }))
await mkdir(join(webDist, 'assets'))
const filler = `<!-- ${'text '.repeat(1000)} -->`
await writeFile(
  join(webDist, 'index.html'),
  `<!doctype html><base href="/" /><meta name="csp-nonce" content="" /><div id="root"></div>${filler}`,
)
await writeFile(join(webDist, 'icon.svg'), '<svg/>')
const script = join(webDist, 'assets', 'main-abc123.js')
await writeFile(script, 'run()')
await writeFile(`${script}.br`, brotliCompressSync('run()'))
await writeFile(`${script}.gz`, gzipSync('run()'))
await writeFile(join(webDist, 'assets', 'small-abc123.css'), 'a{}')
await writeFile(join(webDist, 'assets', 'theme-abc123.js'), 'theme()')
const app = await createTestApp({}, { webDist })
const base = new URL(await app.listen())

const get = (url: string, accept = 'text/html,application/xhtml+xml,*/*;q=0.8') =>
  app.request({ url, headers: { accept } })

test.each(['/', '/app', '/app/', '/app/acme/workspaces/net?tab=runs', '/docs', '/docs/run-tasks', '/docs/api'])(
  '%s is the page of the application',
  async (url) => {
    const response = await get(url)

    expect(response.status).toBe(200)
    expect(response.text).toContain('<div id="root">')
    expect(response.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'private, no-cache',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
  },
)

test('the policy allows only script files, and styles with a nonce unique to the response', async () => {
  const responses = [await get('/app'), await get('/app')]

  const nonces = responses.map(({ text, headers }) => {
    const policy = String(headers['content-security-policy'])
    expect(policy).toContain("script-src 'self';")
    expect(policy).toContain("frame-ancestors 'none'")
    expect(policy).not.toContain('unsafe')
    const nonce = /name="csp-nonce" content="([^"]{20,})"/.exec(text)?.[1]
    expect(policy).toContain(`style-src 'self' 'nonce-${nonce}';`)
    return nonce
  })
  expect(new Set(nonces).size).toBe(2)
})

test('a cached page returns 304 without a new policy, so its nonce stays valid', async () => {
  const { headers } = await get('/app')

  const response = await app.request({
    url: '/app/acme',
    headers: { accept: 'text/html', 'if-none-match': String(headers['etag']) },
  })

  expect(response).toMatchObject({ status: 304, text: '' })
  expect(response.headers['content-security-policy']).toBeUndefined()
})

test('the page is compressed for a browser that accepts gzip', async () => {
  const response = await app.request({ url: '/app', headers: { accept: 'text/html', 'accept-encoding': 'br, gzip' } })

  expect(response.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' })
  expect(gunzipSync(response.bytes).toString()).toContain('<div id="root">')
})

test('a built file is cached permanently', async () => {
  const response = await get('/assets/main-abc123.js', '*/*')

  expect(response.text).toBe('run()')
  expect(response.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(response.headers['content-type']).toMatch(/javascript/)
})

test.each([
  ['br, gzip', 'br', brotliDecompressSync],
  ['gzip, br', 'br', brotliDecompressSync],
  ['gzip', 'gzip', gunzipSync],
  ['br;q=0, gzip', 'gzip', gunzipSync],
  ['*', 'gzip', gunzipSync],
] as const)(
  'a built file is sent to who accepts %s as the build compressed it by %s',
  async (accepted, coding, decompress) => {
    const url = '/assets/main-abc123.js'

    const response = await app.request({ url, headers: { 'accept-encoding': accepted } })
    const head = await app.request({ method: 'HEAD', url, headers: { 'accept-encoding': accepted } })

    expect(decompress(response.bytes).toString()).toBe('run()')
    const headers = {
      'content-encoding': coding,
      'content-type': expect.stringMatching(/javascript/),
      'cache-control': 'public, max-age=31536000, immutable',
      'content-length': String(response.bytes.length),
      vary: 'accept-encoding',
    }
    expect(response.headers).toMatchObject(headers)
    expect(head).toMatchObject({ status: 200, text: '', headers })
  },
)

test.each([
  ['no encoding', '', '/assets/main-abc123.js', 'run()'],
  ['an unknown encoding', 'zstd, identity', '/assets/main-abc123.js', 'run()'],
  ['any encoding of a small file', 'br, gzip', '/assets/small-abc123.css', 'a{}'],
])('with %s, a file is sent uncompressed', async (_, accepted, url, content) => {
  const response = await app.request({ url, headers: { 'accept-encoding': accepted } })

  expect(response.headers['content-encoding']).toBeUndefined()
  expect(response.headers['vary']).toBe('accept-encoding')
  expect(response.text).toBe(content)
})

test('a range applies to the encoded content', async () => {
  const headers = { range: 'bytes=1-3', 'accept-encoding': 'gzip' }

  const whole = await app.request({ url: '/assets/main-abc123.js', headers: { 'accept-encoding': 'gzip' } })
  const part = await app.request({ url: '/assets/main-abc123.js', headers })
  const plain = await app.request({ url: '/assets/main-abc123.js', headers: { range: 'bytes=1-3' } })

  expect(part).toMatchObject({ status: 206, headers: { 'content-encoding': 'gzip' } })
  expect(part.bytes).toEqual(whole.bytes.subarray(1, 4))
  expect(plain).toMatchObject({ status: 206, text: 'un(' })
})

test.each(['/assets/main-abc123.js.br', '/assets/main-abc123.js.gz'])('%s is not a separate file', async (url) => {
  expect((await get(url, '*/*')).status).toBe(404)
})

test('a file outside of assets is cached for an hour', async () => {
  const response = await get('/icon.svg', '*/*')

  expect(response.text).toBe('<svg/>')
  expect(response.headers['cache-control']).toBe('public, max-age=3600')
})

test.each([
  ['a missing asset', '/assets/main-old.js', '*/*'],
  ['a directory of assets', '/assets/', 'text/html'],
  ['a path that leaves the assets', '/assets/..%2findex.html', '*/*'],
  ['a missing file of the application', '/app/main.js', '*/*'],
  ['data of the application', '/app/acme', 'application/json'],
  ['an unknown path, requested by a program,', '/other', '*/*'],
  ['a path of the API', '/api/v2/nothing', 'text/html'],
])('%s is not found', async (_, url, accept) => {
  const response = await get(url, accept)

  expect(response.status).toBe(404)
  expect(response.headers['content-type']).toBe('application/vnd.api+json')
})

test.each(['/other', '/oauth/nothing', '/app/../x', '/other?file=main.tf'])(
  'who opens %s in a browser gets a page with a way on',
  async (url) => {
    const response = await get(url)

    expect(response.status).toBe(404)
    expect(response.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': expect.stringMatching(/^default-src 'none'; /),
    })
    expect(response.text).toContain('Page not found')
    expect(response.text).toContain('href="/app"')
  },
)

test('a path is shown on the page of an error as text', async () => {
  const response = await get('/<img/src=x>')

  expect(response.text).not.toContain('<img')
})

// An HTTP client would normalise them.
test.each([
  '/assets/../../etc/passwd',
  '/assets/%2e%2e/%2e%2e/etc/passwd',
  '/assets/..%2f..%2fetc%2fpasswd',
  String.raw`/assets/..\..\etc\passwd`,
  '/assets/%5c..%5c',
  '/assets/.',
  '/assets//main-abc123.js',
  '/assets/main-abc123.js%00',
  '/assets/main-abc123.js/x',
  `/assets/${'a'.repeat(300)}`,
  '/assets/\xff',
  '/assets/%',
  '/assets/%ff',
  '//icon.svg',
  'http://elsewhere.example/assets/../index.html',
  'http://[/',
])('the target %s is rejected unchanged', async (target) => {
  for (const method of ['GET', 'HEAD', 'POST']) {
    const response = await exchange(base, `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)

    expect(response.status).toBeOneOf([400, 404])
    expect(response.head).toContain('content-type: application/vnd.api+json\r\n')
  }
})

test.each([
  ['a range beyond its end', 'Range: bytes=99-', 416],
  ['an invalid range', 'Range: bytes=-', 416],
  ['another version', 'If-Match: "x"', 412],
])('a request for %s is rejected', async (_, header, status) => {
  const response = await exchange(
    base,
    `GET /assets/main-abc123.js HTTP/1.1\r\nHost: x\r\n${header}\r\nConnection: close\r\n\r\n`,
  )

  expect(response.status).toBe(status)
  expect(JSON.parse(response.body).errors[0]).toMatchObject({ status: String(status), detail: expect.any(String) })
})

test('the page does not accept POST', async () => {
  const response = await app.request({ method: 'POST', url: '/app/acme', body: {} })

  expect(response.status).toBe(404)
})

test('the script that reloads a page of another version has any name, and is not cached then', async () => {
  const own = await get('/assets/theme-abc123.js', '*/*')
  const other = await get('/assets/theme-def456.js', '*/*')
  const missing = await get('/assets/main-def456.js', '*/*')

  expect([own.status, own.text, own.headers['cache-control']]).toEqual([
    200,
    'theme()',
    expect.stringContaining('immutable'),
  ])
  expect([other.status, other.text, other.headers['cache-control']]).toEqual([200, 'theme()', 'no-store'])
  expect(missing.status).toBe(404)
})
