import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { actOnRun, createRun, readRun } from '../../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTaskSetting,
  eventually,
  finishNextJob,
  readResult,
  runReaches,
  startDeliveries,
} from '../../../testing/task-runs.ts'
import { TOPIC } from './events.ts'
import { loggedDeliveries, readDeliveries, redeliver, requestedRun } from './testing/deliveries.ts'

const app = await createTestApp()
startDeliveries(app)

describe('changes while a request is pending', () => {
  async function deliveredAndDeleted() {
    const setting = await createTaskSetting(app)
    const { task, workspaceTask } = await addTask(app, setting, { stages: ['pre_plan'], name: 'strict' })
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)
    const id = payload.task_result_id
    await loggedDeliveries(app, setting, { id, count: 1 })
    const remove = (url: string) => app.request({ method: 'DELETE', url, token: setting.user.token })
    await remove(`/api/v2/workspaces/${setting.workspaceId}/tasks/${workspaceTask}`)
    await remove(`/api/v2/tasks/${task}`)
    return { setting, run, payload, id }
  }

  test.each(['disabled', 'detached'])('a task that is %s is still awaited, and its result counts', async (change) => {
    const setting = await createTaskSetting(app)
    const { task, workspaceTask } = await addTask(app, setting, { stages: ['pre_plan'], name: 'strict' })
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)

    const response = await app.request(
      change === 'disabled'
        ? {
            method: 'PATCH',
            url: `/api/v2/tasks/${task}`,
            token: setting.user.token,
            body: { data: { type: 'tasks', attributes: { enabled: false } } },
          }
        : {
            method: 'DELETE',
            url: `/api/v2/workspaces/${setting.workspaceId}/tasks/${workspaceTask}`,
            token: setting.user.token,
          },
    )
    const { status } = (await readRun(app, setting, run)).attributes
    await callBack(app, payload, { status: 'failed', message: 'no' })

    expect(response.status).toBeLessThan(300)
    expect(status).toBe('pre_plan_running')
    const { attributes } = await readRun(app, setting, run)
    expect(attributes).toMatchObject({ status: 'errored', 'error-message': 'the mandatory task strict failed: no' })
  })

  test('a task that is deleted after its request was delivered is still awaited', async () => {
    const setting = await createTaskSetting(app)
    const { task, workspaceTask } = await addTask(app, setting, { stages: ['pre_plan'] })
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)
    await loggedDeliveries(app, setting, { id: payload.task_result_id, count: 1 })
    const remove = (url: string) => app.request({ method: 'DELETE', url, token: setting.user.token })

    await remove(`/api/v2/workspaces/${setting.workspaceId}/tasks/${workspaceTask}`)
    const deleted = await remove(`/api/v2/tasks/${task}`)
    await callBack(app, payload, { status: 'passed' })

    expect(deleted.status).toBe(204)
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('a deleted task cannot be redelivered, and its result remains open', async () => {
    const { setting, payload, run, id } = await deliveredAndDeleted()

    const response = await redeliver(app, setting, id)

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toBe(
      'the task strict was deleted: its request cannot be redelivered, but its callback is still accepted',
    )
    await callBack(app, payload, { status: 'passed' })
    expect((await readResult(app, setting, id)).attributes).toMatchObject({ status: 'passed', 'delivery-attempts': 1 })
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('a redelivery of a deleted task is dropped, and its result remains open', async () => {
    const { setting, payload, run, id } = await deliveredAndDeleted()

    await app.db.updateTable('task_results').set({ delivery_due_at: app.now() }).where('id', '=', id).execute()
    app.signals.publish(app.db, TOPIC)
    const { attributes } = await eventually(async () => {
      const result = await readResult(app, setting, id)
      return result.attributes['next-delivery-at'] === null && result
    })

    expect(attributes).toMatchObject({ status: 'running', 'delivery-attempts': 1 })
    await callBack(app, payload, { status: 'passed' })
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('a run that was discarded while a task was running accepts no result', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const run = await createRun(app, setting)
    await finishNextJob(setting.agent, run)
    const { payload } = await setting.receiver.received(1)

    const discarded = await actOnRun(app, setting, { run, action: 'discard' })
    const late = await callBack(app, payload, { status: 'passed' })

    expect(discarded.status).toBe(202)
    expect(late.status).toBe(401)
    expect((await readRun(app, setting, run)).attributes.status).toBe('discarded')
    expect((await readResult(app, setting, payload.task_result_id)).attributes).toMatchObject({
      status: 'canceled',
      message: 'the run was discarded',
    })
  })

  test('a new URL is used by the next attempt', async () => {
    const { setting, task } = await requestedRun(app, {}, ({ receiver }) => {
      receiver.onRequest = ({ path }, response) => response.writeHead(path === '/moved' ? 200 : 410).end()
    })

    await app.request({
      method: 'PATCH',
      url: `/api/v2/tasks/${task}`,
      token: setting.user.token,
      body: { data: { type: 'tasks', attributes: { url: setting.receiver.url.replace('/task', '/moved') } } },
    })

    const moved = await eventually(async () => setting.receiver.requests.find(({ path }) => path === '/moved'))
    expect(moved.payload.stage).toBe('pre_plan')
  })

  test('the deletion of a task ends its undelivered results', async () => {
    const setting = await createTaskSetting(app)
    const { task, workspaceTask } = await addTask(app, setting, { stages: ['pre_plan'] })
    setting.receiver.onRequest = (_, response) => response.writeHead(500).end()
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)
    const remove = (url: string) => app.request({ method: 'DELETE', url, token: setting.user.token })

    await remove(`/api/v2/workspaces/${setting.workspaceId}/tasks/${workspaceTask}`)
    await remove(`/api/v2/tasks/${task}`)
    await runReaches(app, setting, { run, status: 'errored' })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'errored' })
    expect(attributes.message).toContain('was deleted before its request was delivered')
    expect(await readDeliveries(app, setting, payload.task_result_id)).toHaveLength(attributes['delivery-attempts'])
  })
})
