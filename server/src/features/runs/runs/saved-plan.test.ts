import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createFakeAgent } from '../../../testing/fake-agent.ts'
import { actOnRun, createRun, createRunSetting, readRun, readWorkspace, runStatus } from '../../../testing/runs.ts'
import { rawState, stateVersionBody } from '../../../testing/state-versions.ts'

const app = await createTestApp()
const agent = await createFakeAgent(app)

/** Claims the next job and finishes it. */
async function work(body?: Parameters<Awaited<ReturnType<typeof agent.take>>['finish']>[0]) {
  const job = await agent.take()
  expect((await job.finish(body)).status).toBe(204)
  return job
}

async function writeState(token: string, workspaceId: string) {
  const url = `/api/v2/workspaces/${workspaceId}/state-versions`
  const response = await app.request({ method: 'POST', url, token, body: stateVersionBody(rawState()) })
  expect(response.status).toBe(201)
}

async function moveState(setting: Awaited<ReturnType<typeof createRunSetting>>) {
  const lock = (action: string) =>
    app.request({
      method: 'POST',
      url: `/api/v2/workspaces/${setting.workspaceId}/actions/${action}`,
      token: setting.user.token,
      body: {},
    })
  expect((await lock('lock')).status).toBe(200)
  await writeState(setting.user.token, setting.workspaceId)
  expect((await lock('unlock')).status).toBe(200)
}

describe('a saved plan', () => {
  test('waits without locking the workspace, and is applied on request', async () => {
    const setting = await createRunSetting(app)
    const saved = await createRun(app, setting, { 'save-plan': true })
    await work()
    expect(await runStatus(app, setting, saved)).toBe('planned_and_saved')
    expect((await readRun(app, setting, saved)).attributes.actions['is-confirmable']).toBe(true)
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
    const other = await createRun(app, setting)

    expect((await actOnRun(app, setting, { run: saved, action: 'apply' })).status).toBe(202)

    expect(await runStatus(app, setting, saved)).toBe('confirmed')
    expect((await readRun(app, setting, saved)).attributes['waiting-reason']).toBe(`1st in the queue behind ${other}`)
    await work({ hasChanges: false })
    expect(await runStatus(app, setting, saved)).toBe('apply_queued')
    await work()
    expect(await runStatus(app, setting, saved)).toBe('applied')
  })

  test('is rejected as stale once the state has changed', async () => {
    const setting = await createRunSetting(app)
    const saved = await createRun(app, setting, { 'save-plan': true })
    await work()
    await moveState(setting)

    const response = await actOnRun(app, setting, { run: saved, action: 'apply' })

    expect(response.status).toBe(409)
    expect(response.text).toContain('stale')
    expect((await readRun(app, setting, saved)).attributes.actions['is-confirmable']).toBe(false)
  })

  test('that became stale in the queue is errored', async () => {
    const setting = await createRunSetting(app)
    const saved = await createRun(app, setting, { 'save-plan': true })
    await work()
    const other = await createRun(app, setting, { 'auto-apply': true })
    await work()
    const apply = await agent.take()
    await actOnRun(app, setting, { run: saved, action: 'apply' })
    await writeState(apply.engineToken, setting.workspaceId)

    await apply.finish()

    expect(await runStatus(app, setting, other)).toBe('applied')
    expect((await readRun(app, setting, saved)).attributes).toMatchObject({ status: 'errored' })
    expect((await readRun(app, setting, saved)).attributes['error-message']).toContain('state has changed')
    expect((await readWorkspace(app, setting)).attributes.locked).toBe(false)
  })
})

test('the state that the engine wrote becomes current when its run ends', async () => {
  const setting = await createRunSetting(app)
  await createRun(app, setting, { 'auto-apply': true })
  await work()
  const apply = await agent.take()
  await writeState(apply.engineToken, setting.workspaceId)

  await apply.finish()

  const url = `/api/v2/workspaces/${setting.workspaceId}/current-state-version`
  const current = await app.request({ url, token: setting.user.token })
  expect(current.json().data.attributes.serial).toBe(1)
})
