import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { hmac, type Received } from '../../../testing/receiver.ts'
import { createRun } from '../../../testing/runs.ts'
import {
  addTask,
  createTaskSetting,
  eventually,
  postTask,
  readResult,
  runReaches,
  startDeliveries,
  type TaskSetting,
  finishNextJob,
} from '../../../testing/task-runs.ts'

/** Behaviours of existing receivers; each is a real server. */

const app = await createTestApp()
await app.listen()
startDeliveries(app)

async function patch(
  { payload }: Pick<Received, 'payload'>,
  attributes: Record<string, unknown>,
  headers: Record<string, string> = { 'content-type': 'application/vnd.api+json' },
) {
  return fetch(payload.task_result_callback_url, {
    method: 'PATCH',
    headers: { authorization: `Bearer ${payload.access_token}`, ...headers },
    body: JSON.stringify({ data: { type: 'task-results', attributes } }),
  })
}

async function loggedDeliveries(setting: TaskSetting, id: string) {
  return eventually(async () => {
    const url = `/api/v2/task-results/${id}/deliveries`
    const { data } = (await app.request({ url, token: setting.user.token })).json()
    return data.length > 0 && data
  })
}

async function passes(setting: TaskSetting) {
  const run = await createRun(app, setting)
  await runReaches(app, setting, { run, status: 'plan_queued' })
  return run
}

describe('a receiver', () => {
  test('calls back before it responds: the result is stored before the request is sent', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    setting.receiver.onRequest = async (received, response) => {
      const patched = await patch(received, { status: 'passed' })
      response.writeHead(patched.status).end()
    }

    await passes(setting)

    const { payload } = await setting.receiver.received(1)
    const [delivery] = await loggedDeliveries(setting, payload.task_result_id)
    expect(delivery.attributes.response.status).toBe(200)
    expect(setting.receiver.requests).toHaveLength(1)
  })

  test('reserialises the body to check the signature, in lower-case hex', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'], 'hmac-key': 'key' })
    setting.receiver.onRequest = async (received, response) => {
      const signature = received.headers['x-tfc-task-signature']
      const isRight = signature === hmac(JSON.stringify(received.payload), 'key')
      response.writeHead(isRight ? 200 : 401).end()
      await patch(received, { status: isRight ? 'passed' : 'failed' })
    }

    await passes(setting)

    const { headers, payload } = await setting.receiver.received(1)
    expect(headers['x-tfc-task-signature']).toMatch(/^[0-9a-f]{128}$/)
    expect((await readResult(app, setting, payload.task_result_id)).attributes.status).toBe('passed')
  })

  test('requires the signature header even if it is empty', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })

    await createRun(app, setting)

    const { headers } = await setting.receiver.received(1)
    expect(headers).toMatchObject({ 'x-tfc-task-signature': '', 'x-svc-task-signature': '' })
  })

  test('accepts only absolute URLs of the expected host, and can use them with its token', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const run = await createRun(app, setting)
    await finishNextJob(setting.agent, run, { format_version: '1.2', planned: 'yes' })
    const { payload } = await setting.receiver.received(1)
    const headers = { authorization: `Bearer ${payload.access_token}` }

    const urls = [
      payload.plan_json_api_url,
      payload.configuration_version_download_url,
      payload.task_result_callback_url,
    ]
    for (const url of urls) expect(url?.startsWith(`${app.baseUrl}/`)).toBe(true)
    const plan = await fetch(payload.plan_json_api_url ?? '', { headers })
    const archive = await fetch(payload.configuration_version_download_url ?? '', { headers })

    expect(await plan.json()).toMatchObject({ planned: 'yes' })
    expect((await archive.bytes()).length).toBeGreaterThan(0)
  })

  test('treats the verification as a job: its callback with the test token is rejected', async () => {
    const setting = await createTaskSetting(app)
    let status = 0
    setting.receiver.onTest = async (received, response) => {
      status = (await patch(received, { status: 'passed' })).status
      response.end()
    }

    const created = await postTask(app, setting, { url: setting.receiver.url })

    expect(created.status).toBe(201)
    expect(status).toBe(401)
  })

  test('sends unknown attributes, an empty url and no relationships', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    setting.receiver.onRequest = async (received, response) => {
      response.end()
      await patch(received, { status: 'passed', message: '', url: '', results: [{ nested: true }] })
    }

    const run = await passes(setting)

    const { payload } = await setting.receiver.received(1)
    expect(payload.run_id).toBe(run)
    expect((await readResult(app, setting, payload.task_result_id)).attributes).toMatchObject({ url: '', message: '' })
  })

  test.each<Record<string, string>>([
    { 'content-type': 'application/vnd.api+json' },
    { 'Content-type': 'application/vnd.api+json', accept: '' },
    { 'content-type': 'application/json' },
    { 'content-type': 'text/plain' },
  ])('calls back with the headers %o', async (headers) => {
    const responses: number[] = []
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    setting.receiver.onRequest = async (received, response) => {
      response.end()
      responses.push((await patch(received, { status: 'passed' }, headers)).status)
    }

    await passes(setting)

    await eventually(async () => responses.length === 1)
    expect(responses).toEqual([200])
  })

  test('reads the run with a trailing slash and its own token', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    await createRun(app, setting)
    const { payload } = await setting.receiver.received(1)

    const response = await fetch(`${app.baseUrl}/api/v2/runs/${payload.run_id}/`, {
      headers: { authorization: `Bearer ${setting.user.token}` },
    })

    expect(response.status).toBe(200)
  })

  test('reads the time of the run as RFC 3339', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    await createRun(app, setting)

    const { payload } = await setting.receiver.received(1)

    expect(payload.run_created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  })

  test('responds with an error long after its callback: only the attempt is recorded', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    const late = Promise.withResolvers<void>()
    setting.receiver.onRequest = async (received, response) => {
      await patch(received, { status: 'passed', message: 'fine' })
      await late.promise
      response.writeHead(500).end('too late')
    }
    await passes(setting)
    const { payload } = await setting.receiver.received(1)

    late.resolve()
    const [delivery] = await loggedDeliveries(setting, payload.task_result_id)

    expect(delivery.attributes.response).toMatchObject({ status: 500, body: 'too late' })
    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'passed', message: 'fine', 'next-delivery-at': null })
    expect(setting.receiver.requests).toHaveLength(1)
  })
})
