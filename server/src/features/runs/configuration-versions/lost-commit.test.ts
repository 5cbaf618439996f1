import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createDatabaseProxy, type DatabaseProxy } from '../../../testing/database-proxy.ts'
import { createConfigurationVersion, createRunSetting, EMPTY_ARCHIVE, put } from '../../../testing/runs.ts'
import { download, rawState, stateClient } from '../../../testing/state-versions.ts'

const proxies: DatabaseProxy[] = []
const app = await createTestApp(
  {},
  {
    reach: async (url) => {
      const proxy = await createDatabaseProxy(url)
      proxies.push(proxy)
      return proxy.url
    },
  },
)
const [proxy] = proxies
if (!proxy) throw new Error('the app has not asked for its database')

test('an upload whose COMMIT got no response is kept, and may be repeated', async () => {
  const setting = await createRunSetting(app)
  const version = await createConfigurationVersion(app, setting, { 'auto-queue-runs': true })
  const get = async (path: string) => app.request({ url: `/api/v2${path}`, token: setting.user.token })
  const url = version.attributes['upload-url']

  const lost = proxy.loseNextCommit()
  const unsure = await put(app, url, EMPTY_ARCHIVE)
  await lost
  const again = await put(app, url, EMPTY_ARCHIVE)

  expect([unsure.status, unsure.text]).toEqual([503, expect.stringContaining('send the same archive to the same URL')])
  expect(unsure.headers['retry-after']).toBe('1')
  expect(again.status).toBe(200)
  expect((await get(`/configuration-versions/${version.id}`)).json().data.attributes.status).toBe('uploaded')
  expect((await get(`/configuration-versions/${version.id}/download`)).bytes).toEqual(EMPTY_ARCHIVE)
  expect((await get(`/workspaces/${setting.workspaceId}/runs`)).json().data).toHaveLength(1)
})

test('a large state whose statement got no response is kept', async () => {
  const setting = await createRunSetting(app)
  const client = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, setting.user.token)
  await client.lock()
  const raw = rawState({ resources: ['big'], padding: 400_000 })

  // One statement stores it, outside of a transaction.
  const lost = proxy.loseNextResponseTo('state_version_count = state_version_count + 1')
  const unsure = await client.post(raw)
  await lost
  const again = await client.post(raw)

  expect([unsure.status, again.status]).toEqual([503, 201])
  const { attributes } = (await client.current()).json().data
  expect((await download(app, attributes['hosted-state-download-url'])).bytes).toEqual(raw)
})
