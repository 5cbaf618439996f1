import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createFailedJob } from '../../../testing/failed-jobs.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
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
  for (const server of shown.servers)
    expect(server).toMatchObject({ version: shown.version, role: 'all', 'started-at': expect.any(String) })
  expect(shown.servers.filter((server: Record<string, boolean>) => server['is-this'])).toHaveLength(1)
})

test('the health reports storage that was removed', async () => {
  const before = await health()
  await rm(join(app.config.dataDir, 'blobs'), { recursive: true })

  const after = await health()

  expect(before.storage['free-bytes']).toBeGreaterThan(0)
  expect(after.storage.error).toContain('store-id is missing')
})

test('a test mail is sent to the caller, and reports why it was not', async () => {
  const port = await freePort()
  const sending = await createTestApp({
    GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
    GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
  })
  const root = await createUser(sending, { isSiteAdmin: true, email: 'root@example.com' })
  const send = async (on = sending, { token } = root) =>
    (await on.request({ method: 'POST', url: '/api/v2/admin/mail/actions/test', token })).json()

  const refused = await send()
  const server = await startMailServer(port)
  const sent = await send()

  expect(refused).toEqual({ to: 'root@example.com', error: expect.stringContaining('ECONNREFUSED') })
  expect(sent).toEqual({ to: 'root@example.com', error: null })
  expect(server.to('root@example.com')).toHaveLength(1)
  expect((await send(app, admin)).error).toContain('GROUNDSTATE_SMTP_URL')
})
