import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFailedJob } from '../../../testing/failed-jobs.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createReplica } from '../../../testing/replica.ts'

const app = await createTestApp()
const admin = await createUser(app, { isSiteAdmin: true })
const health = async () => {
  const response = await app.request({ url: '/api/v2/admin/health', token: admin.token })
  return response.json().data.attributes
}

test('the health has the database, the queue, agents and all servers', async () => {
  const replica = await createReplica(app)
  await createFailedJob(app)
  await createFakeAgent(app)

  const shown = await health()

  expect(shown.database).toMatchObject({ version: expect.stringMatching(/^\d+\.\d+/), 'is-embedded': true })
  expect(shown.database['size-bytes']).toBeGreaterThan(1_000_000)
  expect(shown.queue).toMatchObject({ waiting: 0, failed: 1, 'oldest-waiting-at': null })
  expect(shown.queue.kinds).toContainEqual(expect.objectContaining({ name: 'state-versions.extract', failed: 1 }))
  expect(shown.agents).toMatchObject({ online: 1, busy: 0, 'jobs-waiting': 0 })
  expect(shown.servers.map(({ id }: { id: string }) => id).toSorted()).toEqual(
    [app.signals.id, replica.app.signals.id].toSorted(),
  )
  expect(shown.servers.filter((server: Record<string, boolean>) => server['is-this'])).toHaveLength(1)
})

test('the health reports storage that was removed', async () => {
  const before = await health()
  await rm(join(app.config.dataDir, 'blobs'), { recursive: true })

  const after = await health()

  expect(before.storage['free-bytes']).toBeGreaterThan(0)
  expect(after.storage.error).toContain('store-id is missing')
})
