import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { addWorkspace, put } from '../../../testing/runs.ts'
import { planWith } from '../registry-usages/testing/plans.ts'
import { sweepPackages } from './routes.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const PROVIDERS = `/api/v2/organizations/${acme.name}/registry-providers`
const PACKAGE = Buffer.concat([Buffer.from('PK\u0003\u0004'), Buffer.alloc(300_000, 'x')])

async function post(url: string, type: string, attributes: object) {
  const response = await app.request({ method: 'POST', url, token: owner.token, body: { data: { type, attributes } } })
  return response.json().data
}

/** A version with a platform whose archive is not uploaded. */
async function createVersion(name: string) {
  await post(PROVIDERS, 'registry-providers', { name, namespace: acme.name, 'registry-name': 'private' })
  const provider = `${PROVIDERS}/private/${acme.name}/${name}`
  await post(`${provider}/versions`, 'registry-provider-versions', { version: '1.0.0', 'key-id': 'A' })
  const shasum = createHash('sha256').update(PACKAGE).digest('hex')
  const platform = { os: 'linux', arch: 'amd64', shasum, filename: 'x.zip' }
  const { links } = await post(`${provider}/versions/1.0.0/platforms`, 'registry-provider-platforms', platform)
  return { provider, version: `${provider}/versions/1.0.0`, upload: links['provider-binary-upload'] as string }
}

async function send(method: 'GET' | 'DELETE', url: string) {
  return app.request({ method, url, token: owner.token })
}

async function storedPackages() {
  let count = 0
  for await (const { keys } of app.blobs.list('provider-packages/')) count += keys.length
  return count
}

test('a version and a provider that workspaces use are deleted only by force', async () => {
  const { provider, version, upload } = await createVersion('used')
  expect((await put(app, upload, PACKAGE)).status).toBe(200)
  const setting = await addWorkspace(app, { user: owner, organization: acme.name })
  const providers = [{ address: `${acme.name}/used`, version: '1.0.0' }]
  await planWith(app, await createFakeAgent(app), { setting, installed: { providers } })

  const refused = [await send('DELETE', version), await send('DELETE', provider)]
  const forced = await send('DELETE', `${version}?force=true`)

  for (const response of refused) {
    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toContain(setting.workspaceName)
  }
  expect(forced.status).toBe(204)
  expect((await send('GET', version)).status).toBe(404)
  expect(await storedPackages()).toBe(0)
})

test('an interrupted upload stores nothing and can be repeated', async () => {
  const { version, upload } = await createVersion('interrupted')
  const base = await app.listen()
  const { pathname } = new URL(upload)
  const interrupted = async function* () {
    yield PACKAGE.subarray(0, 200_000)
    throw new Error('the line is cut')
  }

  await expect(fetch(`${base}${pathname}`, { method: 'PUT', body: interrupted(), duplex: 'half' })).rejects.toThrow(
    'fetch failed',
  )

  const shown = await send('GET', `${version}/platforms/linux/amd64`)
  expect(shown.json().data.attributes['provider-binary-uploaded']).toBe(false)
  expect((await put(app, upload, PACKAGE)).status).toBe(200)
  expect(await storedPackages()).toBe(1)
})

test('the archives of a deleted organization are swept', async () => {
  await app.db.deleteFrom('organizations').where('id', '=', acme.id).execute()
  app.clock.advance(3 * 24 * 3_600_000)

  expect(await sweepPackages(app.as(), AbortSignal.timeout(10_000))).toBe(1)
  expect(await storedPackages()).toBe(0)
})
