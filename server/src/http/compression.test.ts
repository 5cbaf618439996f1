import { gunzipSync } from 'node:zlib'
import { expect, test } from 'vitest'
import { createTestApp } from '../testing/app.ts'
import { createOrganization, createUser } from '../testing/factories.ts'
import { takesGzip } from './compression.ts'

const app = await createTestApp()
const url = '/api/v2/openapi.json'

test('a long document is compressed for clients that accept gzip', async () => {
  const plain = await app.request({ url })
  const response = await app.request({ url, headers: { 'accept-encoding': 'gzip' } })

  expect(response.headers).toMatchObject({
    'content-encoding': 'gzip',
    vary: 'accept-encoding',
    etag: plain.headers['etag'],
    'content-length': String(response.bytes.length),
  })
  expect(response.bytes.length).toBeLessThan(plain.bytes.length / 4)
  expect(gunzipSync(response.bytes).toString()).toBe(plain.text)
})

test('HEAD has the same headers', async () => {
  const headers = { 'accept-encoding': 'gzip' }

  const whole = await app.request({ url, headers })
  const head = await app.request({ method: 'HEAD', url, headers })

  expect(head.text).toBe('')
  for (const name of ['content-encoding', 'content-length', 'etag', 'vary'])
    expect(head.headers[name]).toBe(whole.headers[name])
})

test('a client with the current version gets a 304', async () => {
  const { headers } = await app.request({ url, headers: { 'accept-encoding': 'gzip' } })

  const response = await app.request({
    url,
    headers: { 'accept-encoding': 'gzip', 'if-none-match': String(headers['etag']) },
  })

  expect(response).toMatchObject({ status: 304, text: '' })
})

test('a document of a few KB is compressed for browsers only', async () => {
  const owner = await createUser(app)
  const { name } = await createOrganization(app, owner)
  const options = { url: `/api/v2/organizations/${name}`, token: owner.token }
  const headers = { 'accept-encoding': 'gzip' }

  const ofProgram = await app.request({ ...options, headers })
  const ofBrowser = await app.request({ ...options, headers: { ...headers, 'sec-fetch-site': 'same-origin' } })

  expect(ofProgram.headers['content-encoding']).toBeUndefined()
  expect(ofBrowser.headers['content-encoding']).toBe('gzip')
  expect(gunzipSync(ofBrowser.bytes).toString()).toBe(ofProgram.text)
})

test('a short document is not compressed', async () => {
  const response = await app.request({ url: '/api/meta/ip-ranges', headers: { 'accept-encoding': 'gzip' } })

  expect(response.headers['content-encoding']).toBeUndefined()
})

test.each([
  [undefined, false],
  ['', false],
  ['identity', false],
  ['br', false],
  ['gzip', true],
  ['deflate, GZIP;q=0.5', true],
  ['gzip;q=0', false],
  ['gzip;q=0, *', false],
  ['*', true],
  ['*;q=0', false],
  ['x-gzip', true],
] as const)('whether %j accepts gzip is %s', (header, expected) => {
  expect(takesGzip(header)).toBe(expected)
})
