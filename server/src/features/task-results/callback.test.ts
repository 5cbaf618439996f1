import { expect, test } from 'vitest'
import { createTestApp } from '../../testing/app.ts'
import { createRun, readRun } from '../../testing/runs.ts'
import { addTask, callBack, createTaskSetting, runReaches, startDeliveries, work } from '../../testing/task-runs.ts'

const app = await createTestApp()
startDeliveries(app)

test('a run waits at a stage for the verdict of its task, and goes on with it', async () => {
  const setting = await createTaskSetting(app)
  await addTask(app, setting, { stages: ['pre_plan', 'post_plan'] })
  const run = await createRun(app, setting)

  const before = await setting.receiver.received(1)
  expect((await readRun(app, setting, run)).attributes.status).toBe('pre_plan_running')
  expect((await callBack(app, before.payload, { status: 'passed' })).status).toBe(200)
  await work(setting.agent, run)
  const after = await setting.receiver.received(2)
  expect(after.payload.stage).toBe('post_plan')
  await callBack(app, after.payload, { status: 'failed', message: 'too expensive' })
  await runReaches(app, setting, { run, status: 'errored' })

  const { attributes } = await readRun(app, setting, run)
  expect(attributes['error-message']).toMatch(/^the mandatory task task-\d+ failed: too expensive$/)
})
