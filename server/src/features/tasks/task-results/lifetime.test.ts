import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createRun } from '../../../testing/runs.ts'
import {
  addTask,
  createWaitingRun,
  callBack,
  createTaskSetting,
  readResult,
  runReaches,
  startDeliveries,
  type TaskSetting,
} from '../../../testing/task-runs.ts'

/** INTERFACE §2: the status of a result and its deadline. */

const app = await createTestApp({
  GROUNDSTATE_BASE_URL: 'https://groundstate.example',
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
})
startDeliveries(app)

const get = async (setting: TaskSetting, url: string, token = setting.user.token) => app.request({ url, token })

describe('INTERFACE §2.8 the status of a result', () => {
  test('is pending until its stage is reached, then running, then final', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan'] })
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)
    const stages = (await get(setting, `/api/v2/runs/${run}/task-stages`)).json().data
    const later = stages[1].relationships['task-results'].data[0].id

    const status = async (id: string) => (await readResult(app, setting, id)).attributes.status
    expect(await status(payload.task_result_id)).toBe('running')
    expect(await status(later)).toBe('pending')
    await callBack(app, payload, { status: 'running' })
    expect(await status(payload.task_result_id)).toBe('running')
    await callBack(app, payload, { status: 'passed' })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes.status).toBe('passed')
    expect(Object.keys(attributes['status-timestamps'])).toEqual(['passed-at', 'pending-at', 'running-at'])
  })

  test('accepts no callback once it is final: its token is invalid', async () => {
    const { payload, setting } = await createWaitingRun(app)
    await callBack(app, payload, { status: 'passed' })

    const late = await callBack(app, payload, { status: 'failed' })

    expect(late.status).toBe(401)
    expect((await readResult(app, setting, payload.task_result_id)).attributes.status).toBe('passed')
  })

  test('is decided by the first of two concurrent final callbacks; the other gets 401 or 409', async () => {
    const { payload } = await createWaitingRun(app)

    const responses = await Promise.all(
      ['passed', 'failed', 'passed', 'failed'].map((status) => callBack(app, payload, { status })),
    )

    const statuses = responses.map((response) => response.status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.every((status) => [200, 401, 409].includes(status))).toBe(true)
  })
})

describe('INTERFACE §2.9 the deadline', () => {
  test('is ten minutes after the request; the result is then errored', async () => {
    const { payload, setting, run } = await createWaitingRun(app)
    const due = (await readResult(app, setting, payload.task_result_id)).attributes['deadline-at']
    const since = (await readResult(app, setting, payload.task_result_id)).attributes['status-timestamps']['running-at']

    expect(new Date(due).getTime() - new Date(since).getTime()).toBe(600_000)
    app.clock.advance(600_001)
    await runReaches(app, setting, { run, status: 'errored' })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'errored', message: 'no callback within 10 minutes' })
    expect((await callBack(app, payload, { status: 'passed' })).status).toBe(401)
  })

  test('is extended by running callbacks, by ten minutes each, up to sixty', async () => {
    const { payload, setting, run } = await createWaitingRun(app)

    for (let minutes = 0; minutes < 54; minutes += 9) {
      app.clock.advance(9 * 60_000)
      expect((await callBack(app, payload, { status: 'running' })).status).toBe(200)
    }
    const { attributes } = await readResult(app, setting, payload.task_result_id)
    const since = new Date(attributes['status-timestamps']['running-at']).getTime()
    expect(new Date(attributes['deadline-at']).getTime() - since).toBe(3_600_000)
    app.clock.advance(6 * 60_000 + 1000)
    await runReaches(app, setting, { run, status: 'errored' })

    const { message } = (await readResult(app, setting, payload.task_result_id)).attributes
    expect(message).toBe('no final callback within 60 minutes, the maximum for running callbacks')
  })

  test('reports a missing callback after a running one', async () => {
    const { payload, setting, run } = await createWaitingRun(app)

    app.clock.advance(60_000)
    await callBack(app, payload, { status: 'running' })
    app.clock.advance(600_001)
    await runReaches(app, setting, { run, status: 'errored' })

    const { message } = (await readResult(app, setting, payload.task_result_id)).attributes
    expect(message).toBe('no further callback within 10 minutes of the last one')
  })
})
