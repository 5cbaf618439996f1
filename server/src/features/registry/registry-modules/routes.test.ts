import { mkdtemp, mkdir, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { create } from 'tar'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { addMember } from '../../../testing/teams.ts'

const app = await createTestApp()
const owner = await createUser(app)
const acme = await createOrganization(app, owner)
const inside = `/api/v2/organizations/${acme.name}/registry-modules`

async function send(
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
  url: string,
  options: { data?: object; token?: string } = {},
) {
  const { data, token = owner.token } = options
  return app.request({ method, url, token, ...(data && { body: { data } }) })
}

async function createModule(name: string, provider = 'aws') {
  const data = { type: 'registry-modules', attributes: { name, provider, 'registry-name': 'private' } }
  const response = await send('POST', inside, { data })
  expect(response.status).toBe(201)
  return response.json().data
}

async function createVersion(name: string, version: string) {
  const data = { type: 'registry-module-versions', attributes: { version } }
  return send('POST', `/api/v2/registry-modules/${acme.name}/${name}/aws/versions`, { data })
}

async function archive(files: Record<string, string>, link?: string) {
  const directory = await mkdtemp(join(tmpdir(), 'module-'))
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(directory, path)), { recursive: true })
    await writeFile(join(directory, path), text)
  }
  if (link !== undefined) await symlink(link, join(directory, 'link'))
  const chunks: Buffer[] = []
  for await (const chunk of create({ gzip: true, cwd: directory, portable: true }, ['.'])) chunks.push(chunk)
  await rm(directory, { recursive: true })
  return Buffer.concat(chunks)
}

async function upload(link: string, body: Buffer) {
  return app.request({ method: 'PUT', url: new URL(link).pathname, body })
}

async function publish(name: string, version: string, text = `# ${version}\n`) {
  const created = await createVersion(name, version)
  const response = await upload(created.json().data.links.upload, await archive({ 'main.tf': text }))
  expect(response.status).toBe(200)
  return created.json().data
}

test('a published version is found, downloaded and described through the registry protocol', async () => {
  await createModule('network')
  await publish('network', '1.2.0')
  await publish('network', '1.10.0')
  await publish('network', '2.0.0-beta.1')
  const root = `/api/registry/v1/modules/${acme.name}/network/aws`

  const versions = await send('GET', `${root}/versions`)
  const download = await send('GET', `${root}/1.2.0/download`)
  const link = new URL(String(download.headers['x-terraform-get']), 'http://groundstate.test')
  const content = await app.request({ method: 'GET', url: `${link.pathname}${link.search}` })
  const latest = await send('GET', root)
  const redirected = await send('GET', `${root}/download`)
  const missing = await send('GET', `${root}/9.9.9/download`)

  for await (const { keys } of app.blobs.list('modules/')) for (const key of keys) await app.blobs.delete(key)
  const gone = await app.request({ method: 'GET', url: `${link.pathname}${link.search}` })

  expect(gone.status).toBe(404)
  expect(versions.json().modules[0].versions).toEqual([
    { version: '2.0.0-beta.1' },
    { version: '1.10.0' },
    { version: '1.2.0' },
  ])
  expect(download.status).toBe(204)
  expect(link.search).toBe('?archive=tar.gz')
  expect(content.status).toBe(200)
  expect(content.headers['content-type']).toBe('application/gzip')
  expect(latest.json().version).toBe('1.10.0')
  expect(redirected.headers['location']).toContain('/network/aws/1.10.0/download')
  expect(missing.status).toBe(404)
})

test('an upload URL is void with the token for which it was made', async () => {
  await createModule('owned')
  const url = `/api/v2/organizations/${acme.name}/authentication-token`
  const token = (await send('POST', url, { data: {} })).json().data.attributes.token
  const data = { type: 'registry-module-versions', attributes: { version: '1.0.0' } }
  const version = await send('POST', `/api/v2/registry-modules/${acme.name}/owned/aws/versions`, { data, token })
  await send('DELETE', url)

  const refused = await upload(version.json().data.links.upload, await archive({ 'main.tf': '' }))

  expect(refused.status).toBe(403)
  expect(refused.json().errors[0].detail).toContain('account or token')
})

test('a published version never changes', async () => {
  await createModule('fixed')
  const version = await publish('fixed', '1.0.0', 'first')
  const link = version.links.upload

  const repeated = await upload(link, await archive({ 'main.tf': 'second' }))
  const again = await createVersion('fixed', '1.0.0')
  const read = await send('GET', `${inside}/private/${acme.name}/fixed/aws/version?module_version=1.0.0`)

  expect(repeated.status).toBe(409)
  expect(repeated.json().errors[0].detail).toContain('version 1.0.0 is published')
  expect(again.status).toBe(422)
  expect(again.json().errors[0].source.pointer).toBe('/data/attributes/version')
  expect(read.json().data.attributes.status).toBe('ok')
  expect(read.json().data.links.upload).toBeUndefined()
})

test.each([
  ['a link that leads out of the tree', async () => archive({ 'main.tf': '' }, '../../etc/passwd'), 'link'],
  ['content that is no archive', async () => Buffer.from('text'), 'gzip'],
  ['a truncated archive', async () => (await archive({ 'main.tf': 'x'.repeat(1000) })).subarray(0, 60), 'truncated'],
])('%s is refused, and nothing is published', async (_, make, words) => {
  const name = `bad-${words}`
  await createModule(name)
  const link = (await createVersion(name, '1.0.0')).json().data.links.upload

  const refused = await upload(link, await make())
  const module = await send('GET', `${inside}/private/${acme.name}/${name}/aws`)
  const versions = await send('GET', `/api/registry/v1/modules/${acme.name}/${name}/aws/versions`)
  const repaired = await upload(link, await archive({ 'main.tf': '' }))

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].detail).toContain(words)
  expect(module.json().data.attributes['version-statuses'][0]).toMatchObject({ status: 'reg_ingress_failed' })
  expect(module.json().data.attributes['version-statuses'][0].error).toContain(words)
  expect(versions.json().modules[0].versions).toEqual([])
  expect(repaired.status).toBe(200)
})

test.each(['1', '1.2', 'v1.2.3', '01.2.3', '1.2.3-', 'latest', ''])('the version %j is refused', async (version) => {
  await send('POST', inside, { data: { type: 'registry-modules', attributes: { name: 'numbers', provider: 'aws' } } })

  const refused = await createVersion('numbers', version)

  expect(refused.status).toBe(422)
  expect(refused.json().errors[0].source.pointer).toBe('/data/attributes/version')
  expect(refused.json().errors[0].detail).toMatch(version === '' ? /blank/ : /x\.y\.z/)
})

test('members read the registry, those with manage_modules change it, and strangers see nothing', async () => {
  await createModule('shared')
  const member = await createUser(app)
  await addMember(app, acme.id, member)
  const stranger = await createUser(app)
  const one = `${inside}/private/${acme.name}/shared/aws`
  const data = { type: 'registry-modules', attributes: { name: 'other', provider: 'aws' } }

  const read = await send('GET', one, { token: member.token })
  const created = await send('POST', inside, { data, token: member.token })
  const hidden = await send('GET', one, { token: stranger.token })
  const protocol = await send('GET', `/api/registry/v1/modules/${acme.name}/shared/aws/versions`, {
    token: stranger.token,
  })

  expect(read.status).toBe(200)
  expect(read.json().data.attributes.permissions['can-delete']).toBe(false)
  expect([created.status, hidden.status, protocol.status]).toEqual([403, 404, 404])
})

test('a list is searched and filtered, and tags of a module are kept', async () => {
  const module = await createModule('tagged', 'google')
  const relationships = {
    'tag-bindings': { data: [{ type: 'tag-bindings', attributes: { key: 'env', value: 'prod' } }] },
  }
  const one = `${inside}/private/${acme.name}/tagged/google`

  const updated = await send('PATCH', one, {
    data: { type: 'registry-modules', attributes: { 'no-code': true }, relationships },
  })
  const tags = await send('GET', `/api/v2/registry-modules/${module.id}/tag-bindings`)
  const found = await send('GET', `${inside}?q=tagg&filter[provider]=google&include=no-code-modules`)
  const none = await send('GET', `${inside}?q=tagg&filter[provider]=aws`)
  const twice = await send('POST', inside, {
    data: { type: 'registry-modules', attributes: { name: 'Tagged', provider: 'google' } },
  })

  expect(updated.json().data.attributes['no-code']).toBe(true)
  expect(tags.json().data[0].attributes).toMatchObject({ key: 'env', value: 'prod' })
  expect(found.json().data.map(({ id }: { id: string }) => id)).toEqual([module.id])
  expect(none.json().data).toEqual([])
  expect(twice.status).toBe(422)
})
