import { beforeAll, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { type TestUser, createOrganization, createUser } from '../../../testing/factories.ts'

const app = await createTestApp()
let admin: TestUser
beforeAll(async () => {
  admin = await createUser(app, { isSiteAdmin: true })
})

const PATH = '/api/v2/admin/opa-versions'
const URL = 'https://opa.example.com/opa'
const SHA = 'ab'.repeat(32)

async function send(method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, attributes?: object) {
  const body = attributes && { data: { type: 'opa-versions', attributes } }
  return app.request({ method, url, token: admin.token, ...(body && { body }) })
}

test('a version of OPA 1 is there from the start', async () => {
  const response = await send('GET', `${PATH}?filter[version]=1.4.2`)

  expect(response.json().data[0].attributes).toMatchObject({
    official: true,
    enabled: true,
    url: 'https://github.com/open-policy-agent/opa/releases/download/v1.4.2/opa_linux_amd64_static',
  })
})

test('an update of the URL keeps the other binaries', async () => {
  const other = { url: `${URL}-arm`, sha: SHA, os: 'linux', arch: 'arm64' }
  const { id } = (await send('POST', PATH, { version: '1.5.0', url: URL, sha: SHA, archs: [other] })).json().data

  const updated = await send('PATCH', `${PATH}/${id}`, { url: `${URL}-2` })

  expect(updated.json().data.attributes).toMatchObject({
    url: `${URL}-2`,
    sha: SHA,
    archs: [{ arch: 'amd64' }, { arch: 'arm64', url: `${URL}-arm` }],
  })
})

test.each([
  [{ version: '1.x', url: URL }, '/data/attributes/version'],
  [{ version: '1.6.0' }, '/data/attributes/archs'],
  [{ version: '1.6.0', sha: SHA }, '/data/attributes/url'],
  [{ version: '1.6.0', url: 'file:///opa' }, '/data/attributes/url'],
  [{ version: '1.6.0', url: URL, sha: 'abc' }, '/data/attributes/sha'],
  [{ version: '1.4.2', url: URL }, '/data/attributes/version'],
])('%j is refused', async (attributes, pointer) => {
  const response = await send('POST', PATH, attributes)

  expect(response.status).toBe(422)
  expect(response.json().errors[0].source.pointer).toBe(pointer)
})

test('a version that a policy set names cannot be disabled or deleted', async () => {
  const organization = await createOrganization(app, admin)
  const { id } = (await send('POST', PATH, { version: '1.7.0', url: URL })).json().data
  await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${organization.name}/policy-sets`,
    token: admin.token,
    body: { data: { type: 'policy-sets', attributes: { name: 'tags', kind: 'opa', 'policy-tool-version': '1.7.0' } } },
  })

  const disabled = await send('PATCH', `${PATH}/${id}`, { enabled: false })
  const deleted = await send('DELETE', `${PATH}/${id}`)

  expect([disabled.status, deleted.status]).toEqual([409, 409])
  expect(deleted.json().errors[0].detail).toContain(`used by the policy sets tags of ${organization.name}:`)
  const shown = (await send('GET', `${PATH}/${id}`)).json().data.attributes
  expect(shown).toMatchObject({
    usage: 1,
    'used-by': [{ organization: organization.name, 'policy-set': 'tags' }],
    latest: true,
  })
})

test('the only version that can be the latest stays while policy sets use it', async () => {
  const organization = await createOrganization(app, admin)
  const set = { type: 'policy-sets', attributes: { name: 'current', kind: 'opa' } }
  const url = `/api/v2/organizations/${organization.name}/policy-sets`
  await app.request({ method: 'POST', url, token: admin.token, body: { data: set } })
  const versions = (await send('GET', PATH)).json().data
  const others = versions.slice(0, -1)
  const last = versions.at(-1)
  for (const { id } of others) await send('PATCH', `${PATH}/${id}`, { deprecated: true })

  const refused = [
    await send('DELETE', `${PATH}/${last.id}`),
    await send('PATCH', `${PATH}/${last.id}`, { enabled: false }),
    await send('PATCH', `${PATH}/${last.id}`, { deprecated: true }),
  ]
  await send('PATCH', `${PATH}/${others[0].id}`, { deprecated: false })
  const allowed = await send('PATCH', `${PATH}/${last.id}`, { deprecated: true })

  expect(refused.map(({ status }) => status)).toEqual([409, 409, 409])
  expect(refused[0]?.json().errors[0].detail).toBe(
    `version ${last.attributes.version} is the only one that can be the latest, which 1 policy set uses: add another one first`,
  )
  expect(allowed.status).toBe(200)
})
