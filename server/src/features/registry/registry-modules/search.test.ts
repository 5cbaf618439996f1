import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { archiveOf } from '../../../testing/archives.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const ROOT = '/api/registry/v1/modules'

async function publish(
  organization: string,
  name: string,
  { provider = 'aws', versions = ['1.0.0'], user = owner } = {},
) {
  const post = async (url: string, type: string, attributes: object) =>
    app.request({ method: 'POST', url: `/api/v2/${url}`, token: user.token, body: { data: { type, attributes } } })
  await post(`organizations/${organization}/registry-modules`, 'registry-modules', { name, provider })
  for (const version of versions) {
    const path = `registry-modules/${organization}/${name}/${provider}/versions`
    const created = await post(path, 'registry-module-versions', { version })
    const { pathname } = new URL(created.json().data.links.upload)
    await app.request({ method: 'PUT', url: pathname, body: archiveOf({ 'main.tf': '' }) })
  }
}

const get = async (path: string, token = owner.token) => app.request({ url: `${ROOT}${path}`, token })
const ids = (response: Awaited<ReturnType<typeof get>>): string[] =>
  response.json().modules.map(({ id }: { id: string }) => id)

await publish(acme.name, 'network')
await publish(acme.name, 'network', { provider: 'google', versions: ['1.0.0', '1.2.0', '2.0.0-rc.1'] })
await publish(acme.name, 'storage')
await publish(acme.name, 'unpublished', { versions: [] })
const stranger = await createUser(app)
const other = await createOrganization(app, stranger)
await publish(other.name, 'network', { user: stranger })

test('modules are browsed: those with a published version, with the latest, of the caller’s organizations', async () => {
  const all = await get('')
  const own = await get(`/${acme.name.toUpperCase()}`)
  const foreign = await get(`/${other.name}`)

  expect(ids(all)).toEqual([
    `${acme.name}/network/aws/1.0.0`,
    `${acme.name}/network/google/1.2.0`,
    `${acme.name}/storage/aws/1.0.0`,
  ])
  expect(own.json().modules).toEqual(all.json().modules)
  expect(foreign.status).toBe(404)
  expect(all.json().modules[0]).toMatchObject({
    namespace: acme.name,
    name: 'network',
    provider: 'aws',
    verified: false,
  })
})

test('a search finds modules by all of its words, also by provider and namespace', async () => {
  const words = await get('/search?q=net%20goo')
  const provider = await get('/search?q=NETWORK&provider=AWS')
  const foreign = await get(`/search?q=network&namespace=${other.name}`)
  const literal = await get('/search?q=%25')
  const verified = await get('/search?q=network&verified=true')
  const missing = await get('/search')

  expect(ids(words)).toEqual([`${acme.name}/network/google/1.2.0`])
  expect(ids(provider)).toEqual([`${acme.name}/network/aws/1.0.0`])
  expect([foreign, literal, verified].map(ids)).toEqual([[], [], []])
  expect(missing.status).toBe(422)
})

test('lists have pages', async () => {
  const first = await get('?limit=2')
  const { next_url: next } = first.json().meta
  const second = await get(next.slice(ROOT.length))

  expect(first.json().meta).toEqual({
    limit: 2,
    current_offset: 0,
    next_offset: 2,
    next_url: `${ROOT}?limit=2&offset=2`,
  })
  expect(second.json().meta).toEqual({ limit: 2, current_offset: 2, prev_offset: 0 })
  expect([...ids(first), ...ids(second)]).toEqual(ids(await get('')))
  expect((await get('?limit=1000')).json().meta.limit).toBe(100)
})

test('a name without a provider lists the latest version for each provider', async () => {
  const network = await get(`/${acme.name}/network`)
  const shown = await get(`/${acme.name}/network/google/1.0.0`)

  expect(ids(network).toSorted()).toEqual([`${acme.name}/network/aws/1.0.0`, `${acme.name}/network/google/1.2.0`])
  expect((await get(`/${acme.name}/unpublished`)).status).toBe(404)
  expect(shown.json()).toMatchObject({ providers: ['aws', 'google'], root: { dependencies: [] } })
})

test('a version says when it was published', async () => {
  await publish(acme.name, 'dated')
  const publishedAt = async () => (await get(`/${acme.name}/dated/aws/1.0.0`)).json().published_at
  const before = await publishedAt()
  app.clock.advance(3_600_000)
  const body = { data: { type: 'registry-modules', attributes: { 'no-code': true } } }
  const path = `/api/v2/organizations/${acme.name}/registry-modules/private/${acme.name}/dated/aws`
  await app.request({ method: 'PATCH', url: path, token: owner.token, body })

  expect(await publishedAt()).toBe(before)
})
