import { beforeAll, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'

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
