import { describe, expect, test } from 'vitest'
import { transact } from '../../../db/db.ts'
import { createTestApp } from '../../../testing/app.ts'
import { createOrganization, createUser, createWorkspace } from '../../../testing/factories.ts'
import { startReceiver } from '../../../testing/receiver.ts'
import { attachTask, createTask, postTask } from '../../../testing/task-runs.ts'

const app = await createTestApp()

const patchTask = async ({ token }: { token: string }, id: string, attributes: Record<string, unknown>) =>
  app.request({ method: 'PATCH', url: `/api/v2/tasks/${id}`, token, body: { data: { type: 'tasks', attributes } } })

const createWorkspaceByRequest = async (organization: string, { name, token }: { name: string; token: string }) =>
  app.request({
    method: 'POST',
    url: `/api/v2/organizations/${organization}/workspaces`,
    token,
    body: { data: { type: 'workspaces', attributes: { name } } },
  })

async function setPlan(organizationId: string, plan: 'free' | 'unlimited') {
  await transact(app.as(), async ({ db }) =>
    db.updateTable('organizations').set({ plan }).where('id', '=', organizationId).execute(),
  )
}

async function freeSetting() {
  const user = await createUser(app)
  const { name, id } = await createOrganization(app, user)
  const workspace = await createWorkspace(app, { organization: name, actor: user.actor })
  await setPlan(id, 'free')
  return { user, organization: name, organizationId: id, receiver: await startReceiver(), workspaceId: workspace.id }
}

/** On the free plan, with a task that is global since before. */
async function downgradedSetting(attributes: { enabled?: boolean } = {}) {
  const setting = await freeSetting()
  await setPlan(setting.organizationId, 'unlimited')
  const task = await createTask(app, setting, { 'global-configuration': { enabled: true }, ...attributes })
  await setPlan(setting.organizationId, 'free')
  return { ...setting, task }
}

describe('INTERFACE §6.2 the free plan', () => {
  test('allows one run task', async () => {
    const setting = await freeSetting()
    await createTask(app, setting)

    const second = await postTask(app, setting, { url: setting.receiver.url })

    expect(second.status).toBe(422)
    expect(second.json().errors[0].detail).toContain('the free plan allows 1 run task')
  })

  test('allows it in ten workspaces', async () => {
    const setting = await freeSetting()
    const task = await createTask(app, setting)
    const { organization, user } = setting
    for (let index = 0; index < 10; index += 1) {
      const { id } = await createWorkspace(app, { organization, actor: user.actor })
      expect((await attachTask(app, { user, workspaceId: id }, { task })).status).toBe(201)
    }

    const eleventh = await attachTask(app, setting, { task })

    expect(eleventh.status).toBe(422)
    expect(eleventh.json().errors[0].detail).toContain('in 10 workspaces')
  })

  test('ignores that a task shall be global', async () => {
    const setting = await freeSetting()
    const isGlobal = { 'global-configuration': { enabled: true, stages: ['pre_plan'] } }

    const created = await postTask(app, setting, { url: setting.receiver.url, ...isGlobal })
    const changed = await patchTask(setting.user, created.json().data.id, isGlobal)

    expect([created.status, changed.status]).toEqual([201, 200])
    expect(created.json().data.attributes['global-configuration']).toBeNull()
    expect(changed.json().data.attributes['global-configuration']).toBeNull()
  })
})

describe('INTERFACE §6.8 a task that was global before a downgrade to the free plan', () => {
  test('limits the organization to ten workspaces until it is local, for good', async () => {
    const { organization, user, task } = await downgradedSetting()
    const create = async (name: string) => createWorkspaceByRequest(organization, { name, token: user.token })
    const statuses = []
    for (let index = 2; index <= 10; index += 1) statuses.push((await create(`w-${index}`)).status)

    const eleventh = await create('w-11')
    const shown = await patchTask(user, task, { description: 'still global' })
    const local = await patchTask(user, task, { 'global-configuration': { enabled: false } })
    const later = await create('w-11')
    const globalAgain = await patchTask(user, task, { 'global-configuration': { enabled: true } })

    expect(new Set(statuses)).toEqual(new Set([201]))
    expect(eleventh.status).toBe(422)
    expect(eleventh.json().errors[0].detail).toContain('the free plan allows run tasks in 10 workspaces')
    expect(shown.json().data.attributes['global-configuration']).toMatchObject({ enabled: true })
    expect(local.json().data.attributes['global-configuration']).toBeNull()
    expect(later.status).toBe(201)
    expect(globalAgain.json().data.attributes['global-configuration']).toBeNull()
  })

  test('does not count while it is disabled, and cannot be enabled with eleven workspaces', async () => {
    const { organization, user, task } = await downgradedSetting({ enabled: false })
    const create = async (name: string) => createWorkspaceByRequest(organization, { name, token: user.token })
    const statuses = []
    for (let index = 2; index <= 11; index += 1) statuses.push((await create(`w-${index}`)).status)

    const renamed = await patchTask(user, task, { description: 'off', 'global-configuration': { enabled: true } })
    const on = await patchTask(user, task, { enabled: true })
    const onAndLocal = await patchTask(user, task, { enabled: true, 'global-configuration': { enabled: false } })

    expect(new Set(statuses)).toEqual(new Set([201]))
    expect(renamed.status).toBe(200)
    expect(on.status).toBe(422)
    expect(on.json().errors[0]).toMatchObject({
      detail: expect.stringContaining('the free plan allows run tasks in 10 workspaces'),
      source: { pointer: '/data/attributes/enabled' },
    })
    expect(onAndLocal.status).toBe(200)
  })

  test('limits workspaces to ten, also if eleven are created concurrently', async () => {
    const { organization, user } = await downgradedSetting()

    const responses = await Promise.all(
      Array.from({ length: 12 }, async (_, index) =>
        createWorkspaceByRequest(organization, { name: `w-${index}`, token: user.token }),
      ),
    )

    expect(responses.filter(({ status }) => status === 201)).toHaveLength(9)
    expect(responses.filter(({ status }) => status === 422)).toHaveLength(3)
  })
})
