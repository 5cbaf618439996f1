import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'

const app = await createTestApp()

test('the address ranges are lists of strings, empty if unknown', async () => {
  const response = await app.request({ url: '/api/meta/ip-ranges' })

  expect(response.status).toBe(200)
  expect(response.headers['content-type']).toContain('application/json')
  expect(response.json()).toEqual({ api: [], notifications: [], sentinel: [], vcs: [] })
})
