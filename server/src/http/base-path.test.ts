import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { OWN_PATHS } from '../server-address.ts'
import { createTestApp } from '../testing/app.ts'
import { createUser } from '../testing/factories.ts'

const webDist = await mkdtemp(join(tmpdir(), 'groundstate-web-'))
afterAll(() => rm(webDist, { recursive: true, force: true }))
await mkdir(join(webDist, 'assets'))
await writeFile(join(webDist, 'index.html'), '<base href="/" /><div id="root"></div>')
await writeFile(join(webDist, 'assets', 'main-abc123.js'), 'run()')
const app = await createTestApp({ GROUNDSTATE_BASE_URL: 'https://tools.example/groundstate/' }, { webDist })
const { token } = await createUser(app, { isSiteAdmin: true })
await app.request({
  method: 'POST',
  url: '/api/v2/organizations',
  token,
  body: { data: { type: 'organizations', attributes: { name: 'acme', email: 'a@example.com' } } },
})

describe.each([
  ['leaves the path in requests', '/groundstate'],
  ['strips the path from requests', ''],
])('behind a proxy that %s', (_, prefix) => {
  test.each(['/app/acme/workspaces', '/'])('the page of %s contains the base path', async (path) => {
    const response = await app.request({ url: `${prefix}${path}`, headers: { accept: 'text/html' } })

    expect(response.status).toBe(200)
    expect(response.text).toContain('<base href="/groundstate/" />')
  })

  test('files of the application are served', async () => {
    expect((await app.request({ url: `${prefix}/assets/main-abc123.js` })).text).toBe('run()')
  })

  test('links of resources and of lists can be followed', async () => {
    const one = await app.request({ url: `${prefix}/api/v2/organizations/acme`, token })
    const list = await app.request({ url: `${prefix}/api/v2/organizations?page%5Bsize%5D=1`, token })

    expect(one.json().data.links).toEqual({
      self: '/groundstate/api/v2/organizations/acme',
      'self-html': '/groundstate/app/acme',
    })
    expect(list.json().links.self).toMatch(/^\/groundstate\/api\/v2\/organizations\?/)
    const { relationships } = one.json().data
    expect(relationships.subscription?.links?.related ?? relationships['entitlement-set'].links.related).toMatch(
      /^\/groundstate\/api\//,
    )
  })

  test('the CLI discovers services below the base path', async () => {
    const { json } = await app.request({ url: `${prefix}/.well-known/terraform.json` })

    expect(json()).toMatchObject({
      'tfe.v2': '/groundstate/api/v2/',
      'login.v1': { authz: '/groundstate/oauth/authorize', token: '/groundstate/oauth/token' },
    })
  })

  test('a session is limited to the path', async () => {
    const { username } = await createUser(app, { password: 'a good password' })
    const response = await app.request({
      method: 'POST',
      url: `${prefix}/api/v2/sessions`,
      headers: { origin: 'https://tools.example' },
      body: { data: { type: 'sessions', attributes: { username, password: 'a good password' } } },
    })

    expect(response.status).toBe(201)
    expect(response.headers['set-cookie']).toContain('; Path=/groundstate; ')
  })

  test('an error page links to the application', async () => {
    const response = await app.request({ url: `${prefix}/nothing`, headers: { accept: 'text/html' } })

    expect(response.status).toBe(404)
    expect(response.text).toContain('href="/groundstate/app"')
  })
})

test.each(['/groundstate', '/groundstate?x=1'])('%s serves the application too', async (url) => {
  expect((await app.request({ url, headers: { accept: 'text/html' } })).status).toBe(200)
})

test('a path with only the same prefix is a different one', async () => {
  expect((await app.request({ url: '/groundstates/app' })).status).toBe(404)
})

test('every route begins with a path that an address may not have', () => {
  const first = app.server.routes.map(({ url }) => url.split('/')[1])

  expect([...new Set(first)].filter((name) => !OWN_PATHS.includes(name ?? ''))).toEqual([])
})
