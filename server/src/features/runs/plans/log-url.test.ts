import { beforeAll, expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { type TestApp, createTestApp } from '../../../testing/app.ts'
import { type TestUser, createUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { type RunSetting, createRun, createRunSetting, readRun } from '../../../testing/runs.ts'
import { addMember, createTeamToken } from '../../../testing/teams.ts'
import { createOrganizationToken } from '../../organizations/authentication-tokens/service.ts'
import { updateOrganization } from '../../organizations/organizations/store.ts'
import { requireWorkspace } from '../../workspaces/workspaces/access.ts'

let app: TestApp
let setting: RunSetting
let organizationId: string
let planId: string
beforeAll(async () => {
  app = await createTestApp()
  setting = await createRunSetting(app)
  organizationId = (await requireWorkspace(app.as(), setting.workspaceId, 'workspace:read')).organization_id
  const agent = await createFakeAgent(app)
  const id = await createRun(app, setting)
  const job = await agent.take()
  await job.log('Terraform has begun\n')
  planId = (await readRun(app, setting, id)).relationships.plan.data.id
})

const logUrl = async (token: string) =>
  new URL((await app.request({ url: `/api/v2/plans/${planId}`, token })).json().data.attributes['log-read-url'])
const read = async ({ pathname }: URL) => app.request({ url: pathname })

async function newMember() {
  const member = await createUser(app, { password: 'a good password' })
  const workspaces = { [setting.workspaceId]: 'read' as const }
  const teamId = await createTeamWithAccess(app, { members: [member], organizationId, workspaces })
  return { member, teamId }
}

const removeFromTeam = async ({ username }: TestUser, teamId: string) =>
  app.request({
    method: 'DELETE',
    url: `/api/v2/teams/${teamId}/relationships/users`,
    token: setting.user.token,
    body: { data: [{ type: 'users', id: username }] },
  })

test('the URL of a log needs no token, for a day', async () => {
  const { member, teamId } = await newMember()
  const { text } = await createOrganizationToken(app.as(setting.user.actor), setting.organization, {
    kind: 'organization',
  })
  const tokens = [setting.user.token, member.token, await createTeamToken(app, teamId), text]
  const urls = await Promise.all(tokens.map(logUrl))

  for (const url of urls) expect((await read(url)).text).toContain('Terraform has begun')
  const other = await newMember()
  const forged = new URL(String(urls[1]).replace(member.id, other.member.id))
  expect((await read(forged)).status).toBe(404)
})

test('the URL of a log ends with the permission of the user who got it', async () => {
  const [{ member, teamId }, { member: suspended }] = [await newMember(), await newMember()]
  const admin = await createUser(app, { isSiteAdmin: true })
  const urls = [await logUrl(member.token), await logUrl(suspended.token)]
  await addMember(app, organizationId, member)

  const removed = await removeFromTeam(member, teamId)
  const url = `/api/v2/admin/users/${suspended.id}/actions/suspend`
  await app.request({ method: 'POST', url, token: admin.token })

  expect(removed.status).toBe(204)
  expect(await Promise.all(urls.map(async (url) => (await read(url)).status))).toEqual([404, 404])
})

test('the URL of a log needs the two-factor authentication that the organization requires', async () => {
  const { member } = await newMember()
  const url = await logUrl(member.token)
  await updateOrganization(app.db, organizationId, { collaborator_auth_policy: 'two_factor_mandatory' })

  const response = await read(url)
  await updateOrganization(app.db, organizationId, { collaborator_auth_policy: 'password' })

  expect(response.status).toBe(404)
  expect((await read(url)).status).toBe(200)
})

test('the end of a log can be read without knowing its size', async () => {
  const { pathname } = await logUrl(setting.user.token)
  const readEnd = async (tail: number) => (await app.request({ url: `${pathname}?tail=${tail}` })).text

  expect(await readEnd(6)).toBe('begun\n')
  expect(await readEnd(1_000_000)).toBe('\u0002Terraform has begun\n')
})
