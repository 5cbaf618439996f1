import { expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { createRun, createRunSetting, readWorkspace, type RunSetting } from '../../../testing/runs.ts'
import { rawState, stateClient } from '../../../testing/state-versions.ts'

const app = await createTestApp()

/** A workspace with a configuration, a state, a pending state and a run that holds its lock. */
async function fullWorkspace(app: TestApp): Promise<RunSetting> {
  const setting = await createRunSetting(app)
  const agent = await createFakeAgent(app)
  await createRun(app, setting)
  await (await agent.take()).finish({ hasChanges: false })
  const client = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, setting.user.token)
  await client.lock()
  await client.create(rawState())
  await client.unlock()
  await createRun(app, setting, { 'auto-apply': true })
  await (await agent.take()).finish()
  const { engineToken } = await agent.take()
  const engine = stateClient(app, { id: setting.workspaceId, name: setting.workspaceName }, engineToken)
  await engine.create(rawState({ serial: 2 }))
  await engine.create(rawState({ serial: 3 }), { state: undefined })
  return setting
}

test.each([
  ['workspace', ({ workspaceId }: RunSetting) => `/api/v2/workspaces/${workspaceId}`],
  ['organization', ({ organization }: RunSetting) => `/api/v2/organizations/${organization}`],
])('a %s is deleted with runs, configurations and states that its workspace refers to', async (_, urlOf) => {
  const setting = await fullWorkspace(app)
  const { relationships } = await readWorkspace(app, setting)
  const url = urlOf(setting)

  const deleted = await app.request({ method: 'DELETE', url, token: setting.user.token })

  for (const name of ['current-run', 'latest-run', 'current-state-version', 'current-configuration-version']) {
    expect(relationships[name].data).not.toBeNull()
  }
  expect(deleted.status).toBe(204)
  expect((await app.request({ url, token: setting.user.token })).status).toBe(404)
})
