import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { actOnRun, createRun, readRun } from '../../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTaskSetting,
  readStages,
  startDeliveries,
  type TaskSetting,
  finishNextJob,
} from '../../../testing/task-runs.ts'

const app = await createTestApp()
startDeliveries(app)

async function refusedRun({ waits = 0 } = {}) {
  const setting = await createTaskSetting(app)
  await addTask(app, setting, { stages: ['post_plan'], name: 'strict' })
  const run = await createRun(app, setting)
  await finishNextJob(setting.agent, run)
  const { payload } = await setting.receiver.received(1)
  app.clock.advance(waits)
  await callBack(app, payload, { status: 'failed', message: 'no' })
  return { setting, run }
}

const ERROR = 'the mandatory task strict failed: no'

async function ending(setting: TaskSetting, run: string) {
  const { status, 'error-message': error } = (await readRun(app, setting, run)).attributes
  return [status, error]
}

describe('a negative result right after the plan', () => {
  test('is on the stage immediately, without ending the run', async () => {
    const { setting, run } = await refusedRun()

    const [stage] = await readStages(app, setting, run)
    const read = await app.request({ url: `/api/v2/task-stages/${stage.id}`, token: setting.user.token })

    expect(read.json().data.attributes).toMatchObject({ status: 'failed', message: ERROR })
    expect(await ending(setting, run)).toEqual(['post_plan_running', null])
  })

  test('ends the run four seconds after the start of the stage', async () => {
    const { setting, run } = await refusedRun()

    await app.runJobs()
    const before = await ending(setting, run)
    app.clock.advance(4000)
    await app.runJobs()

    expect(before).toEqual(['post_plan_running', null])
    expect(await ending(setting, run)).toEqual(['errored', ERROR])
  })

  test('ends the run immediately if it arrives later', async () => {
    const { setting, run } = await refusedRun({ waits: 4000 })

    expect(await ending(setting, run)).toEqual(['errored', ERROR])
  })

  test('changes nothing after a cancel', async () => {
    const { setting, run } = await refusedRun()

    await actOnRun(app, setting, { run, action: 'cancel' })
    app.clock.advance(4000)
    await app.runJobs()

    expect(await ending(setting, run)).toEqual(['canceled', null])
  })
})

test('the failure of an apply is deferred after a stage that has just ended', async () => {
  const setting = await createTaskSetting(app)
  await addTask(app, setting, { stages: ['pre_apply'] })
  const run = await createRun(app, setting, { 'auto-apply': true })
  await finishNextJob(setting.agent, run)
  const { payload } = await setting.receiver.received(1)
  app.clock.advance(20_000)
  await callBack(app, payload, { status: 'passed' })

  const apply = await setting.agent.take()
  await apply.finish({ status: 'errored', exitCode: 1 })

  expect((await readRun(app, setting, run)).attributes.status).toBe('applying')
  app.clock.advance(5500)
  await app.runJobs()
  expect((await readRun(app, setting, run)).attributes.status).toBe('errored')
})
