import { createServer } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { act, createRun, readRun } from '../../../testing/runs.ts'
import {
  addTask,
  callBack,
  createTaskSetting,
  eventually,
  readResult,
  runReaches,
  startDeliveries,
  type TaskSetting,
  work,
} from '../../../testing/task-runs.ts'
import { backoff } from './backoff.ts'
import { TOPIC } from './topic.ts'

const app = await createTestApp()
startDeliveries(app)

async function deliveries(setting: TaskSetting, id: string) {
  return (await app.request({ url: `/api/v2/task-results/${id}/deliveries`, token: setting.user.token })).json().data
}

async function loggedDeliveries(setting: TaskSetting, id: string, count: number) {
  return eventually(async () => {
    const rows = await deliveries(setting, id)
    return rows.length >= count && rows
  })
}

async function asked(attributes: Record<string, unknown> = {}, prepare: (setting: TaskSetting) => unknown = () => {}) {
  const setting = await createTaskSetting(app)
  const { task } = await addTask(app, setting, { stages: ['pre_plan'], ...attributes })
  prepare(setting)
  const run = await createRun(app, setting)
  const { payload } = await setting.receiver.received(1)
  return { setting, run, payload, task, id: payload.task_result_id }
}

const redeliver = async (setting: TaskSetting, id: string) =>
  app.request({ method: 'POST', url: `/api/v2/task-results/${id}/actions/redeliver`, token: setting.user.token })

describe('INTERFACE §2.5 the delivery of a request', () => {
  test('a request that is answered with anything but 200 is sent again, within two seconds', async () => {
    const tryAgain = async (status: number) => {
      let calls = 0
      const { setting, id } = await asked({}, ({ receiver }) => {
        receiver.onRequest = (_, response) => {
          calls += 1
          response.writeHead(calls === 1 ? status : 200, { location: '/' }).end()
        }
      })
      const second = await setting.receiver.received(2)
      const rows = await loggedDeliveries(setting, id, 2)
      return { first: setting.receiver.requests[0], second, rows, status }
    }

    const tries = await Promise.all([201, 204, 302, 400, 404, 500, 503].map(tryAgain))

    for (const { first, second, rows, status } of tries) {
      expect(second.at - (first?.at ?? 0)).toBeGreaterThan(400)
      expect(second.at - (first?.at ?? 0)).toBeLessThan(2000)
      expect(second.body).toBe(first?.body)
      expect(rows.map(({ attributes }: any) => attributes.response.status)).toEqual([200, status])
      const redirect = status === 302 ? ', and redirects are not followed' : ''
      expect(rows.map(({ attributes }: any) => attributes.error)).toEqual([
        null,
        `it was answered with ${status}: only 200 says that the request has arrived${redirect}`,
      ])
    }
  })

  test('a request whose connection is dropped is sent again', async () => {
    let calls = 0
    const { setting, id } = await asked({}, ({ receiver }) => {
      receiver.onRequest = (_, response) => {
        calls += 1
        if (calls === 1) response.destroy()
        else response.end()
      }
    })

    await setting.receiver.received(2)

    const rows = await loggedDeliveries(setting, id, 2)
    expect(rows[1].attributes.response).toBeNull()
    expect(rows[1].attributes.error).toContain('the connection was closed before an answer came')
    expect(rows[1].attributes['next-attempt-at']).not.toBeNull()
  })

  test('a request is not sent again once a callback has come, whatever its answer was', async () => {
    const { setting, id } = await asked({}, ({ receiver }) => {
      receiver.onRequest = async ({ payload }, response) => {
        await callBack(app, payload, { status: 'running' })
        response.writeHead(500).end()
      }
    })

    const [row] = await loggedDeliveries(setting, id, 1)

    expect(row.attributes['next-attempt-at']).toBeNull()
    expect((await readResult(app, setting, id)).attributes['next-delivery-at']).toBeNull()
  })

  test('a request that is never delivered ends at the deadline, and the run says what happened', async () => {
    const { setting, id, run } = await asked({}, ({ receiver }) => {
      receiver.onRequest = (_, response) => response.writeHead(502).end('bad gateway')
    })
    await loggedDeliveries(setting, id, 1)

    app.clock.advance(600_000)
    await runReaches(app, setting, { run, status: 'errored' })

    const { attributes } = await readResult(app, setting, id)
    expect(attributes.message).toMatch(
      /^no callback came within 10 minutes, and the request was not delivered in \d attempts?: it was answered with 502$/,
    )
  })
})

describe('pauses', () => {
  test('are at most a second, double up to a minute, and are spread', () => {
    const longest = [1, 2, 3, 4, 7, 20].map((attempt) => backoff(attempt, 1))
    expect(longest).toEqual([1000, 2000, 4000, 8000, 60_000, 60_000])
    expect(backoff(1, 0)).toBe(500)
  })
})

describe('the delivery log', () => {
  test('tells what was sent and what came back, without the secrets', async () => {
    const { setting, id, payload } = await asked({ 'hmac-key': 'top-secret' }, ({ receiver }) => {
      receiver.onRequest = ({ payload }, response) =>
        response.writeHead(200, { 'set-cookie': 'session=1', 'x-echo': payload.access_token }).end(payload.access_token)
    })

    const [row] = await loggedDeliveries(setting, id, 1)

    const { attributes } = row
    expect(row).toMatchObject({ type: 'task-deliveries', relationships: { 'task-result': { data: { id } } } })
    expect(attributes).toMatchObject({ attempt: 1, error: null, 'next-attempt-at': null })
    expect(attributes['duration-ms']).toBeGreaterThanOrEqual(0)
    expect(attributes.request).toMatchObject({ method: 'POST', url: setting.receiver.url })
    expect(JSON.parse(attributes.request.body)).toEqual({ ...payload, access_token: '[redacted]' })
    expect(attributes.request.headers['X-TFC-Task-Signature']).toMatch(/^[0-9a-f]{128}$/)
    expect(attributes.response).toMatchObject({
      status: 200,
      headers: { 'set-cookie': '[redacted]', 'x-echo': '[redacted]' },
      body: '[redacted]',
      'is-truncated': false,
    })
    expect(JSON.stringify(row)).not.toContain(payload.access_token)
    expect(JSON.stringify(row)).not.toContain('top-secret')
  })

  test('keeps 64 KB of an answer', async () => {
    const { setting, id } = await asked({}, ({ receiver }) => {
      receiver.onRequest = (_, response) => response.end('x'.repeat(200_000))
    })

    const [row] = await loggedDeliveries(setting, id, 1)

    expect(row.attributes.response.body).toHaveLength(64 * 1024)
    expect(row.attributes.response['is-truncated']).toBe(true)
  })

  test('tells a receiver that nothing listens at', async () => {
    const server = createServer((_, response) => response.end())
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const setting = await createTaskSetting(app)
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
    await addTask(app, setting, { stages: ['pre_plan'], url })
    server.closeAllConnections()
    server.close()

    const run = await createRun(app, setting)
    const stages = (await app.request({ url: `/api/v2/runs/${run}/task-stages`, token: setting.user.token })).json()
      .data
    const [row] = await loggedDeliveries(setting, stages[0].relationships['task-results'].data[0].id, 1)

    expect(row.attributes.error).toContain('nothing listens there')
  })
})

describe('redelivery', () => {
  test('sends the request once more, with the same body', async () => {
    const { setting, id } = await asked()
    await loggedDeliveries(setting, id, 1)

    const response = await redeliver(setting, id)

    expect(response.status).toBe(200)
    const second = await setting.receiver.received(2)
    expect(second.body).toBe(setting.receiver.requests[0]?.body)
    await loggedDeliveries(setting, id, 2)
  })

  test('is refused while the request is on its way, and when the result is final', async () => {
    let finish = () => {}
    const { setting, id, payload } = await asked({}, ({ receiver }) => {
      receiver.onRequest = (_, response) => {
        finish = () => response.end()
      }
    })

    const early = await redeliver(setting, id)
    finish()
    await loggedDeliveries(setting, id, 1)
    await callBack(app, payload, { status: 'passed' })
    const late = await redeliver(setting, id)

    expect(early.status).toBe(409)
    expect(early.json().errors[0].detail).toContain('on its way')
    expect(late.status).toBe(409)
    expect(late.json().errors[0].detail).toContain('passed')
  })
})

describe('changes while a request is out', () => {
  async function deliveredAndDeleted() {
    const setting = await createTaskSetting(app)
    const { task, workspaceTask } = await addTask(app, setting, { stages: ['pre_plan'], name: 'strict' })
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)
    const id = payload.task_result_id
    await loggedDeliveries(setting, id, 1)
    const remove = (url: string) => app.request({ method: 'DELETE', url, token: setting.user.token })
    await remove(`/api/v2/workspaces/${setting.workspaceId}/tasks/${workspaceTask}`)
    await remove(`/api/v2/tasks/${task}`)
    return { setting, run, payload, id }
  }

  test.each(['disabled', 'detached'])(
    'a task that is %s is still waited for, and its verdict counts',
    async (change) => {
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
    },
  )

  test('a task that is deleted after its request has arrived is still waited for', async () => {
    const setting = await createTaskSetting(app)
    const { task, workspaceTask } = await addTask(app, setting, { stages: ['pre_plan'] })
    const run = await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)
    await loggedDeliveries(setting, payload.task_result_id, 1)
    const remove = (url: string) => app.request({ method: 'DELETE', url, token: setting.user.token })

    await remove(`/api/v2/workspaces/${setting.workspaceId}/tasks/${workspaceTask}`)
    const deleted = await remove(`/api/v2/tasks/${task}`)
    await callBack(app, payload, { status: 'passed' })

    expect(deleted.status).toBe(204)
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('a task that is deleted takes no redelivery, and its result stays open', async () => {
    const { setting, payload, run, id } = await deliveredAndDeleted()

    const response = await redeliver(setting, id)

    expect(response.status).toBe(409)
    expect(response.json().errors[0].detail).toBe(
      'the task strict was deleted: its request can not be sent again, but its callback still counts',
    )
    await callBack(app, payload, { status: 'passed' })
    expect((await readResult(app, setting, id)).attributes).toMatchObject({ status: 'passed', 'delivery-attempts': 1 })
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('a redelivery that a deletion overtakes is dropped, and its result stays open', async () => {
    const { setting, payload, run, id } = await deliveredAndDeleted()

    await app.db.updateTable('task_results').set({ delivery_due_at: app.now() }).where('id', '=', id).execute()
    await app.signals.publish(app.db, TOPIC)
    const { attributes } = await eventually(async () => {
      const result = await readResult(app, setting, id)
      return result.attributes['next-delivery-at'] === null && result
    })

    expect(attributes).toMatchObject({ status: 'running', 'delivery-attempts': 1 })
    await callBack(app, payload, { status: 'passed' })
    expect((await readRun(app, setting, run)).attributes.status).toBe('plan_queued')
  })

  test('a run that is discarded while a task is out takes no verdict any more', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const run = await createRun(app, setting)
    await work(setting.agent, run)
    const { payload } = await setting.receiver.received(1)

    const discarded = await act(app, setting, { run, action: 'discard' })
    const late = await callBack(app, payload, { status: 'passed' })

    expect(discarded.status).toBe(202)
    expect(late.status).toBe(401)
    expect((await readRun(app, setting, run)).attributes.status).toBe('discarded')
    expect((await readResult(app, setting, payload.task_result_id)).attributes).toMatchObject({
      status: 'canceled',
      message: 'the run was discarded',
    })
  })

  test('a new URL is where the next attempt goes', async () => {
    const { setting, task } = await asked({}, ({ receiver }) => {
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

  test('a task that is deleted ends a result that was never delivered', async () => {
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
    expect(await deliveries(setting, payload.task_result_id)).toHaveLength(attributes['delivery-attempts'])
  })
})
