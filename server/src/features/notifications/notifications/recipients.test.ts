import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createProject, createUser } from '../../../testing/factories.ts'
import { startMailServer } from '../../../testing/mail-server.ts'
import { freePort } from '../../../testing/ports.ts'
import { actOnRun, createRun } from '../../../testing/runs.ts'
import { eventually } from '../../../testing/task-runs.ts'
import { addMember } from '../../../testing/teams.ts'
import { configure, createNotifiedSetting, listNotifications, startSending } from './testing/notified.ts'

const port = await freePort()
const app = await createTestApp({
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
  GROUNDSTATE_SMTP_URL: `smtp://127.0.0.1:${port}`,
  GROUNDSTATE_MAIL_FROM: 'groundstate@example.com',
})
const mail = await startMailServer(port)
startSending(app)
const setting = await createNotifiedSetting(app)
const { id: organizationId } = await app.db
  .selectFrom('organizations')
  .select('id')
  .where('name', '=', setting.organization)
  .executeTakeFirstOrThrow()
const users = (...ids: string[]) => ({ users: { data: ids.map((id) => ({ id, type: 'users' })) } })
const EMAIL = { name: 'mails', 'destination-type': 'email', triggers: ['run:created'] }

async function member() {
  const user = await createUser(app)
  await addMember(app, organizationId, user)
  return user
}

async function ended(id: string) {
  const [notification] = await eventually(async () => {
    const list = await listNotifications(app, setting, id)
    return list[0]?.attributes.status !== 'pending' && list.length > 0 && list
  })
  return notification.attributes
}

const verify = async (id: string) =>
  app.request({
    method: 'POST',
    url: `/api/v2/notification-configurations/${id}/actions/verify`,
    token: setting.user.token,
  })

test('members who may not see the workspace get no e-mails about it', async () => {
  const [insider, outsider] = [await member(), await member()]
  const workspaces = { [setting.workspaceId]: 'read' } as const
  await createTeamWithAccess(app, { organizationId, members: [insider], workspaces })
  const byId = await configure(app, setting, { ...EMAIL, relationships: users(insider.id, outsider.id) })
  const byAddress = await configure(app, setting, { ...EMAIL, 'email-addresses': [outsider.email] })

  await createRun(app, setting)

  expect(await ended(byId)).toMatchObject({ status: 'delivered' })
  expect(await ended(byAddress)).toMatchObject({ status: 'canceled', error: expect.stringContaining('nobody') })
  expect([mail.to(insider.email).length, mail.to(outsider.email).length]).toEqual([1, 0])
})

test('a user who may no longer see the workspace gets no e-mail about an own run', async () => {
  const starter = await member()
  const workspaces = { [setting.workspaceId]: 'write' } as const
  const team = await createTeamWithAccess(app, { organizationId, members: [starter], workspaces })
  await app.request({
    method: 'PATCH',
    url: '/api/v2/account/notification-settings',
    token: starter.token,
    body: { data: { type: 'notification-settings', attributes: { 'own-run-triggers': ['run:errored'] } } },
  })
  const run = await createRun(app, { ...setting, user: starter })
  await app.db.deleteFrom('team_workspaces').where('team_id', '=', team).execute()

  await actOnRun(app, setting, { run, action: 'cancel' })
  const [notification] = await eventually(async () => {
    const list = await app.db.selectFrom('notifications').selectAll().where('user_id', '=', starter.id).execute()
    return list[0]?.status !== 'pending' && list.length > 0 && list
  })

  expect(notification).toMatchObject({ status: 'canceled', error: expect.stringContaining('no longer') })
  expect(mail.to(starter.email)).toEqual([])
})

test('a configuration whose named users have all left does not go to everybody', async () => {
  const inside = await member()
  const project = await createProject(app, { organization: setting.organization, actor: setting.user.actor })
  await createTeamWithAccess(app, { organizationId, members: [inside], projects: { [project.id]: 'read' } })
  const invited = await app.request({
    method: 'POST',
    url: `/api/v2/organizations/${setting.organization}/organization-memberships`,
    token: setting.user.token,
    body: { data: { type: 'organization-memberships', attributes: { email: 'grace@example.com' } } },
  })
  const { id: membership, relationships } = invited.json().data
  const at = `/projects/${project.id}`
  const id = await configure(app, setting, { ...EMAIL, at, relationships: users(relationships.user.data.id) })

  await app.request({
    method: 'DELETE',
    url: `/api/v2/organization-memberships/${membership}`,
    token: setting.user.token,
  })
  const verified = await verify(id)

  expect(verified.status).toBe(400)
  expect(verified.json().errors[0].detail).toContain('nobody receives it')
  expect(mail.to(inside.email)).toEqual([])
})
