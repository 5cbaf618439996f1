import { Agent, request } from 'node:http'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import type { Received } from '../../../testing/receiver.ts'
import { createRun } from '../../../testing/runs.ts'
import {
  addTask,
  createTaskSetting,
  readResult,
  runReaches,
  startDeliveries,
  type TaskSetting,
} from '../../../testing/task-runs.ts'

/** Callbacks over real sockets. */

const app = await createTestApp()
await app.listen()
startDeliveries(app)

async function createWaitingRun() {
  const setting = await createTaskSetting(app)
  await addTask(app, setting, { stages: ['pre_plan'] })
  const run = await createRun(app, setting)
  const { payload } = await setting.receiver.received(1)
  return { setting, run, payload }
}

type Payload = Received['payload']

/** Sends the chunks of a body sequentially, with only the required headers. */
async function send(
  { task_result_callback_url: url, access_token: token }: Payload,
  chunks: readonly (string | Buffer)[],
  { agent, authorization = `Bearer ${token}` }: { agent?: Agent; authorization?: string } = {},
) {
  return new Promise<{ status: number | undefined; body: string; port: number | undefined }>((resolve, reject) => {
    const headers = { authorization, 'content-type': 'application/vnd.api+json' }
    const outgoing = request(url, { method: 'PATCH', headers, agent: agent ?? false }, (response) => {
      const port = response.socket.localPort
      let body = ''
      response.on('data', (chunk: Buffer) => (body += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode, body, port }))
    })
    outgoing.once('error', reject)
    const [first = '', ...rest] = chunks
    outgoing.write(first, () => {
      for (const chunk of rest) outgoing.write(chunk)
      outgoing.end()
    })
  })
}

const body = (attributes: Record<string, unknown>, outcomes: readonly unknown[] = []) =>
  JSON.stringify({
    data: {
      type: 'task-results',
      attributes,
      relationships: {
        outcomes: { data: outcomes.map((outcome) => ({ type: 'task-result-outcomes', attributes: outcome })) },
      },
    },
  })

const statusOf = async (setting: TaskSetting, id: string) => (await readResult(app, setting, id)).attributes.status

describe('a callback', () => {
  test('without an Accept header gets an empty 200', async () => {
    const { payload } = await createWaitingRun()

    expect(await send(payload, [body({ status: 'passed' })])).toMatchObject({ status: 200, body: '' })
  })

  test('can share a kept-alive connection', async () => {
    const { setting, run, payload } = await createWaitingRun()
    using agent = Object.assign(new Agent({ keepAlive: true, maxSockets: 1 }), {
      [Symbol.dispose]: () => agent.destroy(),
    })

    const responses = []
    for (const status of ['running', 'running', 'passed'])
      responses.push(await send(payload, [body({ status })], { agent }))

    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(new Set(responses.map(({ port }) => port)).size).toBe(1)
    await runReaches(app, setting, { run, status: 'plan_queued' })
  })

  test('that arrives in small chunks is accepted', async () => {
    const { setting, payload } = await createWaitingRun()
    const text = body({ status: 'passed', message: 'slow' })

    const response = await send(payload, text.split(''))

    expect(response.status).toBe(200)
    expect((await readResult(app, setting, payload.task_result_id)).attributes.message).toBe('slow')
  })

  test('that is interrupted changes nothing, and can be repeated', async () => {
    const { setting, payload } = await createWaitingRun()
    const url = new URL(payload.task_result_callback_url)
    const text = body({ status: 'failed' })

    await new Promise<void>((resolve) => {
      const outgoing = request(url, {
        method: 'PATCH',
        headers: {
          authorization: `Bearer ${payload.access_token}`,
          'content-type': 'application/vnd.api+json',
          'content-length': text.length,
        },
      })
      outgoing.once('error', () => {})
      outgoing.once('close', resolve)
      outgoing.write(text.slice(0, 20), () => outgoing.destroy())
    })
    const before = await statusOf(setting, payload.task_result_id)
    const response = await send(payload, [body({ status: 'passed' })])

    expect(before).toBe('running')
    expect(response.status).toBe(200)
    expect(await statusOf(setting, payload.task_result_id)).toBe('passed')
  })

  test('with several outcomes of 5 MB each is accepted', async () => {
    const { setting, payload } = await createWaitingRun()
    const outcomes = ['A', 'B', 'C'].map((id) => ({
      'outcome-id': id,
      description: id,
      body: id.repeat(5 * 1024 * 1024),
    }))

    const response = await send(payload, [body({ status: 'passed' }, outcomes)])

    expect(response.status).toBe(200)
    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'passed', 'task-result-outcomes-count': 3 })
  })

  test('counts its outcomes by the most severe level of their tags', async () => {
    const { setting, payload } = await createWaitingRun()
    const tagged = (id: string, ...levels: (string | undefined)[]) => ({
      'outcome-id': id,
      description: id,
      tags: { Severity: levels.map((level) => ({ label: 'x', level })), Team: [{ label: 'network' }] },
    })
    const outcomes = [tagged('A', 'info', 'error'), tagged('B', 'error'), tagged('C', 'warning', 'none'), tagged('D')]

    await send(payload, [body({ status: 'running' }, [tagged('A', 'warning')])])
    await send(payload, [body({ status: 'passed' }, outcomes)])

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes['outcome-levels']).toEqual({ error: 2, warning: 1, info: 0, none: 1 })
    expect(attributes['task-result-outcomes-count']).toBe(4)
  })

  test('of more than 25 MB is rejected with 413 and changes nothing', async () => {
    const { setting, payload } = await createWaitingRun()

    const response = await app.request({
      method: 'PATCH',
      url: `/api/v2/task-results/${payload.task_result_id}/callback`,
      token: payload.access_token,
      body: Buffer.alloc(25 * 1024 * 1024 + 1, ' '),
    })

    expect(response.status).toBe(413)
    expect(await statusOf(setting, payload.task_result_id)).toBe('running')
  })

  test('with an invalid token is rejected before the body is read', async () => {
    const { payload } = await createWaitingRun()

    const status = await new Promise((resolve, reject) => {
      const outgoing = request(payload.task_result_callback_url, {
        method: 'PATCH',
        headers: { authorization: 'Bearer made-up', 'content-type': 'application/vnd.api+json' },
      })
      outgoing.once('response', (response) => {
        resolve(response.statusCode)
        outgoing.destroy()
      })
      outgoing.once('error', reject)
      outgoing.write('{')
    })

    expect(status).toBe(401)
  })

  test('that arrives twice concurrently is accepted once', async () => {
    const { setting, run, payload } = await createWaitingRun()

    const responses = await Promise.all(
      Array.from({ length: 4 }, async () => send(payload, [body({ status: 'passed' })])),
    )

    const statuses = responses.map(({ status }) => status)
    expect(statuses.filter((status) => status === 200)).toHaveLength(1)
    expect(statuses.filter((status) => status !== 200 && status !== 401 && status !== 409)).toEqual([])
    await runReaches(app, setting, { run, status: 'plan_queued' })
  })
})
