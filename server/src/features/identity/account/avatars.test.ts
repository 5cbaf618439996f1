import { beforeAll, expect, test } from 'vitest'
import { createTestApp, type TestApp, type TestResponse } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { readImage } from './image.ts'

let app: TestApp
beforeAll(async () => {
  app = await createTestApp()
})

test('pictures are public and do not change', async () => {
  const user = await createUser(app)

  const first = await app.request({ url: `/avatars/${user.id}.svg` })
  const second = await app.request({ url: `/avatars/${user.id}.svg` })

  expect(first.status).toBe(200)
  expect(first.headers['content-type']).toContain('image/svg+xml')
  expect(first.headers['cache-control']).toContain('public')
  expect(first.text).toMatch(/^<svg .*<\/svg>$/)
  expect(second.text).toBe(first.text)
})

test('an unknown id has a picture too, which does not contain the id', async () => {
  const response = await app.request({ url: `/avatars/${encodeURIComponent('"><script>')}.svg` })

  expect(response.status).toBe(200)
  expect(response.text).not.toContain('script')
})

/** The header of a PNG with that size; the server reads no more. */
function png(width: number, height: number) {
  const header = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex')
  const size = Buffer.alloc(8)
  size.writeUInt32BE(width, 0)
  size.writeUInt32BE(height, 4)
  return Buffer.concat([header, size, Buffer.from('0806000000', 'hex')])
}

const upload = (token: string, body: Buffer) =>
  app.request({ method: 'PUT', url: '/api/v2/account/avatar', token, body, headers: { 'content-type': 'image/png' } })
const pathOf = (response: TestResponse) => new URL(response.json().data.attributes['avatar-url']).pathname

test('an uploaded picture replaces the pattern for everyone, until it is removed', async () => {
  const user = await createUser(app)

  const uploaded = await upload(user.token, png(256, 256))
  const first = await app.request({ url: pathOf(uploaded) })
  const second = await upload(user.token, png(128, 128))
  const replaced = await app.request({ url: pathOf(uploaded) })
  const admin = await createUser(app, { isSiteAdmin: true })
  const seen = await app.request({ url: `/api/v2/users/${user.id}`, token: admin.token })
  const removed = await app.request({ method: 'DELETE', url: '/api/v2/account/avatar', token: user.token })

  expect(uploaded.status).toBe(200)
  expect(first.headers).toMatchObject({
    'content-type': 'image/png',
    'x-content-type-options': 'nosniff',
    'content-security-policy': expect.stringContaining("default-src 'none'"),
  })
  expect(first.bytes).toEqual(png(256, 256))
  expect(pathOf(second)).not.toBe(pathOf(uploaded))
  expect(replaced.status).toBe(404)
  expect(pathOf(seen)).toBe(pathOf(second))
  expect(pathOf(removed)).toBe(`/avatars/${user.id}.svg`)
  expect((await app.request({ url: pathOf(second) })).status).toBe(404)
})

test.each([
  ['text', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 422, /no PNG, JPEG or WebP/],
  ['an incomplete header', png(256, 256).subarray(0, 18), 422, /no PNG, JPEG or WebP/],
  ['a picture that is not square', png(256, 128), 422, /256 × 128 pixels; it must be square/],
  ['a picture with too many pixels', png(30_000, 30_000), 422, /at most 1024 × 1024/],
  ['a file that is too large', Buffer.concat([png(256, 256), Buffer.alloc(300_000)]), 413, /262144/],
])('%s is rejected', async (_, body, status, detail) => {
  const user = await createUser(app)

  const response = await upload(user.token, body)

  expect(response.status).toBe(status)
  expect(response.json().errors[0].detail).toMatch(detail)
})

test.each([
  ['png', png(256, 200), { width: 256, height: 200 }],
  ['jpg', Buffer.from('ffd8ffe000044a46ffc0001108006400c8030111', 'hex'), { width: 200, height: 100 }],
  ['webp', Buffer.from(`RIFF....WEBPVP8X....\u0010...\u00ff\0\0\u007f\0\0`, 'latin1'), { width: 256, height: 128 }],
  ['webp', Buffer.from(`RIFF....WEBPVP8L....\u002f\u00ff\u00c0\u003f\0`, 'latin1'), { width: 256, height: 256 }],
  ['webp', Buffer.from(`RIFF....WEBPVP8 ..........\0\u0001\u0000\u0001`, 'latin1'), { width: 256, height: 256 }],
])('the size of a %s file is in its header', (extension, content, size) => {
  expect(readImage(content)).toEqual({ extension, ...size })
})
