import { gzipSync } from 'node:zlib'
import { Header } from 'tar'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createConfigurationVersion, createRunSetting, put, type RunSetting } from '../../../testing/runs.ts'

const app = await createTestApp()

function archive(files: Record<string, string>) {
  const entries = Object.entries(files).flatMap(([path, text]) => {
    const body = Buffer.from(text)
    const header = Buffer.alloc(512)
    new Header({ path, type: 'File', mode: 0o644, size: body.length }).encode(header)
    return [header, body, Buffer.alloc((512 - (body.length % 512)) % 512)]
  })
  return gzipSync(Buffer.concat([...entries, Buffer.alloc(1024)]))
}

async function upload(setting: RunSetting, files: Record<string, string>): Promise<string> {
  const version = await createConfigurationVersion(app, setting)
  const stored = await put(app, version.attributes['upload-url'], archive(files))
  expect(stored.status).toBe(200)
  return version.id
}

async function readme({ workspaceId, user }: RunSetting) {
  return app.request({ url: `/api/v2/workspaces/${workspaceId}/readme`, token: user.token })
}

test('the README of the working directory precedes that of the root', async () => {
  const setting = await createRunSetting(app, { 'working-directory': '/db' })
  const version = await upload(setting, { 'README.md': '# root', 'db/ReadMe.MD': '# db', 'web/README.md': '# web' })

  const first = await readme(setting)
  const again = await readme(setting)

  expect(first.json().data).toMatchObject({
    id: setting.workspaceId,
    attributes: { path: 'db/ReadMe.MD', 'raw-markdown': '# db', 'is-cut': false },
    relationships: { 'configuration-version': { data: { id: version } } },
  })
  expect(again.json()).toEqual(first.json())
})

test('without one in the working directory, the README of the root is shown', async () => {
  const setting = await createRunSetting(app, { 'working-directory': 'db' })
  await upload(setting, { './README.md': '# root', 'db/main.tf': '' })

  const response = await readme(setting)

  expect(response.json().data.attributes).toMatchObject({ path: 'README.md', 'raw-markdown': '# root' })
})

test('a newer configuration has its own README, or none', async () => {
  const setting = await createRunSetting(app)
  const none = await readme(setting)
  await upload(setting, { 'README.md': 'first' })
  const first = await readme(setting)
  await upload(setting, { 'main.tf': '' })
  const second = await readme(setting)

  expect([none.status, first.status, second.status]).toEqual([204, 200, 204])
})

test('a long README is truncated between two characters', async () => {
  const setting = await createRunSetting(app)
  await upload(setting, { 'README.md': `a${'ü'.repeat(200_000)}\0` })

  const { attributes } = (await readme(setting)).json().data

  expect(attributes['is-cut']).toBe(true)
  expect(attributes['raw-markdown']).toBe(`a${'ü'.repeat(128 * 1024 - 1)}`)
})

test('a README is deleted with its archive', async () => {
  const setting = await createRunSetting(app)
  const version = await upload(setting, { 'README.md': 'secret' })
  await readme(setting)
  await upload(setting, { 'main.tf': '' })
  const url = `/api/v2/configuration-versions/${version}/actions/archive`

  const archived = await app.request({ method: 'POST', url, token: setting.user.token })

  expect(archived.status).toBe(202)
  const kept = await app.db
    .selectFrom('configuration_readmes')
    .select('path')
    .where('configuration_version_id', '=', version)
    .execute()
  expect(kept).toEqual([])
})

test('others get no README', async () => {
  const setting = await createRunSetting(app)
  await upload(setting, { 'README.md': 'ours' })

  const response = await readme({ ...setting, user: await createUser(app) })

  expect(response.status).toBe(404)
})
