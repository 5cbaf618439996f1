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

describe('INTERFACE §6.2 the free plan', () => {
  async function freeSetting() {
    const user = await createUser(app)
    const { name, id } = await createOrganization(app, user)
    const workspace = await createWorkspace(app, { organization: name, actor: user.actor })
    await transact(app.as(), async ({ db }) =>
      db.updateTable('organizations').set({ plan: 'free' }).where('id', '=', id).execute(),
    )
    return { user, organization: name, receiver: await startReceiver(), workspaceId: workspace.id }
  }

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

  test('allows a global task in ten workspaces, and rejects the eleventh', async () => {
    const setting = await freeSetting()
    const { organization, user } = setting
    const task = await createTask(app, setting, { 'global-configuration': { enabled: true } })
    const create = async (name: string) => createWorkspaceByRequest(organization, { name, token: user.token })
    const statuses = []
    for (let index = 2; index <= 10; index += 1) statuses.push((await create(`w-${index}`)).status)

    const eleventh = await create('w-11')
    await patchTask(user, task, { 'global-configuration': { enabled: false } })
    const later = await create('w-11')
    const globalAgain = await patchTask(user, task, { 'global-configuration': { enabled: true } })

    expect(new Set(statuses)).toEqual(new Set([201]))
    expect(eleventh.status).toBe(422)
    expect(eleventh.json().errors[0].detail).toContain('the free plan allows run tasks in 10 workspaces')
    expect(later.status).toBe(201)
    expect(globalAgain.status).toBe(422)
  })

  test('does not count a disabled task, which cannot be enabled with eleven workspaces', async () => {
    const setting = await freeSetting()
    const { organization, user } = setting
    const isGlobal = { 'global-configuration': { enabled: true } }
    const task = await createTask(app, setting, { enabled: false, ...isGlobal })
    const create = async (name: string) => createWorkspaceByRequest(organization, { name, token: user.token })
    const statuses = []
    for (let index = 2; index <= 11; index += 1) statuses.push((await create(`w-${index}`)).status)

    const renamed = await patchTask(user, task, { description: 'off', ...isGlobal })
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

  test('applies to a task that becomes enabled and global concurrently', async () => {
    const setting = await freeSetting()
    const { organization, user } = setting
    const task = await createTask(app, setting, { enabled: false })
    for (let index = 2; index <= 11; index += 1) {
      await createWorkspaceByRequest(organization, { name: `w-${index}`, token: user.token })
    }

    const responses = await Promise.all([
      patchTask(user, task, { enabled: true }),
      patchTask(user, task, { 'global-configuration': { enabled: true } }),
    ])

    expect(responses.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 422])
  })

  test('limits a global task to ten workspaces, also if eleven are created concurrently', async () => {
    const { organization, user, receiver } = await freeSetting()
    await createTask(app, { organization, user, receiver }, { 'global-configuration': { enabled: true } })

    const responses = await Promise.all(
      Array.from({ length: 12 }, async (_, index) =>
        createWorkspaceByRequest(organization, { name: `w-${index}`, token: user.token }),
      ),
    )

    expect(responses.filter(({ status }) => status === 201)).toHaveLength(9)
    expect(responses.filter(({ status }) => status === 422)).toHaveLength(3)
  })
})
