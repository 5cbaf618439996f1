import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { exchange } from '../testing/exchange.ts'

const webDist = await mkdtemp(join(tmpdir(), 'groundstate-web-'))
afterAll(() => rm(webDist, { recursive: true, force: true }))
await mkdir(join(webDist, 'assets'))
await writeFile(join(webDist, 'index.html'), '<!doctype html><script>theme()</script><div id="root"></div>')
await writeFile(join(webDist, 'icon.svg'), '<svg/>')
await writeFile(join(webDist, 'assets', 'main-abc123.js'), 'run()')
const app = await createTestApp({}, { webDist })
const base = new URL(await app.listen())

const get = (url: string, accept = 'text/html,application/xhtml+xml,*/*;q=0.8') =>
  app.request({ url, headers: { accept } })

test.each(['/', '/app', '/app/', '/app/acme/workspaces/net?tab=runs'])(
  '%s is the page of the application',
  async (url) => {
    const response = await get(url)

    expect(response.status).toBe(200)
    expect(response.text).toContain('<div id="root">')
    expect(response.headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-cache',
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
    })
    expect(response.headers['content-security-policy']).toContain("script-src 'self' 'sha256-")
    expect(response.headers['content-security-policy']).toContain("frame-ancestors 'none'")
  },
)

test('a built file is kept for good', async () => {
  const response = await get('/assets/main-abc123.js', '*/*')

  expect(response.text).toBe('run()')
  expect(response.headers['cache-control']).toBe('public, max-age=31536000, immutable')
  expect(response.headers['content-type']).toMatch(/javascript/)
})

test('a file beside the page is not', async () => {
  const response = await get('/icon.svg', '*/*')

  expect(response.text).toBe('<svg/>')
  expect(response.headers['cache-control']).toBe('public, max-age=3600')
})

test.each([
  ['a missing asset', '/assets/main-old.js', '*/*'],
  ['a folder of assets', '/assets/', 'text/html'],
  ['a way out of the assets', '/assets/..%2findex.html', '*/*'],
  ['a missing file of the application', '/app/main.js', '*/*'],
  ['data of the application', '/app/acme', 'application/json'],
  ['a path of nobody', '/other', 'text/html'],
  ['a path of the API', '/api/v2/nothing', 'text/html'],
])('%s is not found', async (_, url, accept) => {
  const response = await get(url, accept)

  expect(response.status).toBe(404)
  expect(response.headers['content-type']).toBe('application/vnd.api+json')
})

// A client of HTTP would tidy them up.
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
])('the target %s is refused as it stands', async (target) => {
  for (const method of ['GET', 'HEAD', 'POST']) {
    const answer = await exchange(base, `${method} ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)

    expect(answer.status).toBeOneOf([400, 404])
    expect(answer.head).toContain('content-type: application/vnd.api+json\r\n')
  }
})

test.each([
  ['bytes that it has not', 'Range: bytes=99-', 416],
  ['a range that is none', 'Range: bytes=-', 416],
  ['another file', 'If-Match: "x"', 412],
])('a file that is asked for %s is refused', async (_, header, status) => {
  const answer = await exchange(
    base,
    `GET /assets/main-abc123.js HTTP/1.1\r\nHost: x\r\n${header}\r\nConnection: close\r\n\r\n`,
  )

  expect(answer.status).toBe(status)
  expect(JSON.parse(answer.body).errors[0]).toMatchObject({ status: String(status), detail: expect.any(String) })
})

test('nothing can be posted to the page', async () => {
  const response = await app.request({ method: 'POST', url: '/app/acme', body: {} })

  expect(response.status).toBe(404)
})
