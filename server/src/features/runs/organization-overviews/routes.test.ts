import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import { expect, test } from 'vitest'
import { createTeamWithAccess } from '../../../testing/access.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace, type TestUser } from '../../../testing/factories.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { startReceiver } from '../../../testing/receiver.ts'
import { actOnRun, addWorkspace, createRun, createRunSetting, type RunSetting } from '../../../testing/runs.ts'
import { createTask } from '../../../testing/task-runs.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

async function overview(organization: string, user: TestUser) {
  const response = await app.request({ url: `/api/v2/organizations/${organization}/overview`, token: user.token })
  expect(response.status).toBe(200)
  return response.json().data.attributes
}

/** The group in which the overview counts the only workspace. */
async function groupOf({ organization, user, workspaceId }: RunSetting) {
  const { workspaces } = await overview(organization, user)
  const names = [...RUN_GROUP_NAMES.map((name) => name.replaceAll('_', '-')), 'without-runs']
  const counted = names.filter((name) => workspaces[name] === 1)
  const filter = counted[0] === 'without-runs' ? 'none' : counted[0]?.replaceAll('-', '_')
  const url = `/api/v2/organizations/${organization}/workspaces?filter[run-group]=${filter}`
  const listed = await app.request({ url, token: user.token })
  expect(listed.json().data.map((workspace: any) => workspace.id)).toEqual([workspaceId])
  return counted.join()
}

test('a workspace is counted in the group of its current run, and listed by it', async () => {
  const setting = await createRunSetting(app)
  const groups = [await groupOf(setting)]

  const run = await createRun(app, setting)
  groups.push(await groupOf(setting))
  const plan = await agent.take()
  groups.push(await groupOf(setting))
  await plan.finish({ counts: { additions: 2, changes: 4, destructions: 0, imports: 0 } })
  groups.push(await groupOf(setting))
  await actOnRun(app, setting, { run, action: 'apply' })
  groups.push(await groupOf(setting))
  const apply = await agent.take()
  groups.push(await groupOf(setting))
  await apply.finish()
  groups.push(await groupOf(setting))

  expect(groups).toEqual(['without-runs', 'waiting', 'running', 'needs-approval', 'waiting', 'running', 'finished'])
})

test('a refresh of one target does not change the drift of the workspace', async () => {
  const setting = await createRunSetting(app)
  const check = async (hasChanges: boolean, targets?: string[]) => {
    await createRun(app, setting, { 'refresh-only': true, 'plan-only': true, 'target-addrs': targets })
    await (await agent.take()).finish({ hasChanges })
    const url = `/api/v2/workspaces/${setting.workspaceId}`
    return (await app.request({ url, token: setting.user.token })).json().data.attributes['has-drift']
  }
  const one = ['terraform_data.one']

  const found = [await check(false, one), await check(true), await check(false, one), await check(false)]

  expect([...found, await check(true, one)]).toEqual([null, true, true, false, true])
})

test('a refresh-only plan detects drift, and the next apply removes it', async () => {
  const setting = await createRunSetting(app)
  const drifted = async () => {
    const url = `/api/v2/organizations/${setting.organization}/workspaces?filter[drifted]=true`
    const { data } = (await app.request({ url, token: setting.user.token })).json()
    return [data.length, (await overview(setting.organization, setting.user)).workspaces.drifted]
  }
  const before = await drifted()

  await createRun(app, setting, { 'refresh-only': true, 'plan-only': true })
  await (await agent.take()).finish({ hasChanges: true })
  const found = await drifted()
  await createRun(app, setting, { 'auto-apply': true })
  await (await agent.take()).finish()
  await (await agent.take()).finish()
  const after = await drifted()

  expect([before, found, after]).toEqual([
    [0, 0],
    [1, 1],
    [0, 0],
  ])
})

test('members count only the workspaces that they may see', async () => {
  const owner = await createUser(app)
  const organization = await createOrganization(app, owner)
  const add = () => addWorkspace(app, { user: owner, organization: organization.name })
  const [granted, hidden] = [await add(), await add()]
  const member = await createUser(app)
  await createTeamWithAccess(app, {
    members: [member],
    organizationId: organization.id,
    workspaces: { [granted.workspaceId]: 'read' },
  })
  await app.request({
    method: 'POST',
    url: `/api/v2/workspaces/${hidden.workspaceId}/actions/lock`,
    token: owner.token,
  })
  await createRun(app, hidden)

  const seen = await overview(organization.name, member)
  const all = await overview(organization.name, owner)

  expect([seen.workspaces.total, seen.workspaces.locked, seen['has-run']]).toEqual([1, 0, false])
  expect([all.workspaces.total, all.workspaces.locked, all['has-run']]).toEqual([2, 1, true])
})

test('the getting-started steps are completed one by one', async () => {
  const user = await createUser(app)
  const organization = await createOrganization(app, user)
  const steps = async () => {
    const found = await overview(organization.name, user)
    return ['has-token', 'has-workspace', 'has-run', 'has-run-task'].map((name) => found[name])
  }
  const first = await steps()

  await createWorkspace(app, { organization: organization.name, actor: user.actor })
  const second = await steps()
  const receiver = await startReceiver()
  await createTask(app, { user, organization: organization.name, receiver })
  const third = await steps()

  expect([first, second, third]).toEqual([
    [true, false, false, false],
    [true, true, false, false],
    [true, true, false, true],
  ])
})

test('agents and the limits of the plan are counted', async () => {
  const setting = await createRunSetting(app)
  await createRun(app, setting)
  const waiting = await overview(setting.organization, setting.user)

  const job = await agent.take()
  const running = await overview(setting.organization, setting.user)
  await job.finish()

  expect(waiting.jobs).toEqual({ waiting: 1, running: 0 })
  expect(running.jobs).toEqual({ waiting: 0, running: 1 })
  expect(running.agents).toEqual({ online: 0, idle: 0, busy: 0, 'is-built-in-online': true })
  expect(running.usage['concurrent-runs']).toMatchObject({ used: 1 })
  expect(running.usage['run-tasks']).toEqual({ used: 0, limit: null })
})

test('the sample is counted, and completes no getting-started step', async () => {
  const user = await createUser(app)
  const organization = await createOrganization(app, user)
  const url = `/api/v2/organizations/${organization.name}/actions/make-sample`
  const before = await overview(organization.name, user)

  await app.request({ method: 'POST', url, token: user.token })
  const after = await overview(organization.name, user)

  expect([before['has-sample'], after['has-sample']]).toEqual([false, true])
  expect(after).toMatchObject({ 'has-workspace': false, 'has-run': false, 'has-run-task': false })
  expect(after.workspaces.total).toBe(2)
})
