import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createUser } from '../../../testing/factories.ts'
import { createRun } from '../../../testing/runs.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { addMember } from '../../../testing/teams.ts'
import { configure, createNotifiedSetting, listNotifications, startSending } from './testing/notified.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true' })
startSending(app)

test('readers of a workspace see that a delivery failed, but neither why nor its requests', async () => {
  const setting = await createNotifiedSetting(app)
  const id = await configure(app, setting, { triggers: ['run:created'] })
  setting.receiver.onRequest = (_, response) => response.writeHead(500).end()
  await createRun(app, setting)
  const [managed] = await eventually(async () => {
    const list = await listNotifications(app, setting, id)
    return list[0]?.attributes.error != null && list
  })
  const { id: organizationId } = await app.db
    .selectFrom('organizations')
    .select('id')
    .where('name', '=', setting.organization)
    .executeTakeFirstOrThrow()
  const reader = await createUser(app)
  await addMember(app, organizationId, reader)
  const workspaces = { [setting.workspaceId]: 'read' } as const
  await createTeamWithAccess(app, { organizationId, members: [reader], workspaces })
  const get = async (url: string) => app.request({ url: `/api/v2${url}`, token: reader.token })

  const configuration = await get(`/notification-configurations/${id}`)
  const list = await get(`/notification-configurations/${id}/notifications`)
  const deliveries = await get(`/notifications/${managed.id}/deliveries`)

  expect(managed.attributes.error).toContain('500')
  const errors = [configuration.json().data.attributes['last-notification'], list.json().data[0].attributes]
  expect(errors.map(({ error }) => error)).toEqual([expect.any(String), expect.any(String)])
  expect(JSON.stringify(errors)).not.toContain('500')
  expect(deliveries.status).toBe(404)
  expect(list.json().meta.pagination).not.toHaveProperty('total-count')
})
