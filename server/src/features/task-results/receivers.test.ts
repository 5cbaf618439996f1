import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, test } from 'vitest'
import { createTestApp } from '../../testing/app.ts'
import { hmac, type Received } from '../../testing/receiver.ts'
import { createRun, readRun } from '../../testing/runs.ts'
import {
  addTask,
  createTaskSetting,
  eventually,
  postTask,
  readResult,
  runReaches,
  startDeliveries,
  type TaskSetting,
  work,
} from '../../testing/task-runs.ts'

/** Receivers that are in use out there, by what they do; each is a real server that the app reaches over a socket. */

const app = await createTestApp()
await app.listen()
startDeliveries(app)

const EXAMPLE = join(import.meta.dirname, '../../../../examples/run-task-receiver/receiver.mjs')

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

async function passes(setting: TaskSetting) {
  const run = await createRun(app, setting)
  await runReaches(app, setting, { run, status: 'plan_queued' })
  return run
}

describe('a receiver', () => {
  test('calls back before it answers: the result is there before the request leaves', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    setting.receiver.onRequest = async (received, response) => {
      const answer = await patch(received, { status: 'passed' })
      response.writeHead(answer.status).end()
    }

    await passes(setting)

    const { payload } = await setting.receiver.received(1)
    const deliveries = await eventually(async () => {
      const { data } = (
        await app.request({
          url: `/api/v2/task-results/${payload.task_result_id}/deliveries`,
          token: setting.user.token,
        })
      ).json()
      return data.length > 0 && data
    })
    expect(deliveries[0].attributes.response.status).toBe(200)
    expect(setting.receiver.requests).toHaveLength(1)
  })

  test('serialises the body again to check the signature, in lower-case hex', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'], 'hmac-key': 'key' })
    setting.receiver.onRequest = async (received, response) => {
      const signature = received.headers['x-tfc-task-signature']
      const isRight = signature === hmac(JSON.stringify(received.payload), 'key')
      response.writeHead(isRight ? 200 : 401).end()
      await patch(received, { status: isRight ? 'passed' : 'failed' })
    }

    await passes(setting)
  })

  test('wants the signature header to be there even when it is empty', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })

    await createRun(app, setting)

    const { headers } = await setting.receiver.received(1)
    expect(headers).toMatchObject({ 'x-tfc-task-signature': '', 'x-svc-task-signature': '' })
  })

  test('takes only absolute URLs on the host that it expects, and resends its token when it follows them', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['post_plan'] })
    const run = await createRun(app, setting)
    await work(setting.agent, run, { format_version: '1.2', planned: 'yes' })
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

  test('treats the verification as a job: its callback with the test token is refused', async () => {
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

  test('sends attributes that nobody knows, an empty url and no relationships', async () => {
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
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    setting.receiver.onRequest = async (received, response) => {
      response.end()
      await patch(received, { status: 'passed' }, headers)
    }

    await passes(setting)
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

  test('answers with an error long after its callback was taken: nothing changes', async () => {
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan'] })
    let answer = () => {}
    setting.receiver.onRequest = async (received, response) => {
      await patch(received, { status: 'passed', message: 'fine' })
      answer = () => response.writeHead(500).end('too late')
    }
    await passes(setting)
    const { payload } = await setting.receiver.received(1)

    answer()
    await eventually(async () => {
      const url = `/api/v2/task-results/${payload.task_result_id}/deliveries`
      return (await app.request({ url, token: setting.user.token })).json().data.length === 1
    })

    const { attributes } = await readResult(app, setting, payload.task_result_id)
    expect(attributes).toMatchObject({ status: 'passed', message: 'fine', 'next-delivery-at': null })
    expect(setting.receiver.requests).toHaveLength(1)
  })
})

describe('the receiver in examples/', () => {
  test('verifies, reads the plan and calls back with outcomes', async () => {
    const { createReceiver } = (await import(EXAMPLE)) as {
      createReceiver: (options: Record<string, unknown>) => import('node:http').Server
    }
    const log: string[] = []
    const server = createReceiver({ hmacKey: 'key', log: (line: string) => log.push(line) })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    afterAll(() => server.close())
    const url = `http://127.0.0.1:${(server.address() as { port: number }).port}/`
    const setting = await createTaskSetting(app)
    await addTask(app, setting, { stages: ['pre_plan', 'post_plan'], url, 'hmac-key': 'key' })
    const wrong = await postTask(app, setting, { url, 'hmac-key': 'other' })

    const run = await createRun(app, setting)
    await runReaches(app, setting, { run, status: 'plan_queued' })
    await work(setting.agent, run, {
      format_version: '1.2',
      resource_changes: [
        { address: 'terraform_data.a', change: { actions: ['delete'] } },
        { address: 'terraform_data.b', change: { actions: ['create'] } },
      ],
    })
    await runReaches(app, setting, { run, status: 'errored' })

    expect(wrong.json().errors[0].detail).toContain('401: the signature is wrong')
    const { attributes } = await readRun(app, setting, run)
    expect(attributes['error-message']).toContain('1 of 2 resources are destroyed, 0 may be')
    const stages = (await app.request({ url: `/api/v2/runs/${run}/task-stages`, token: setting.user.token })).json()
      .data
    const id = stages[1].relationships['task-results'].data[0].id
    const outcomes = await app.request({ url: `/api/v2/task-results/${id}/outcomes`, token: setting.user.token })
    expect(outcomes.json().data[0].attributes).toMatchObject({
      'outcome-id': 'terraform_data.a',
      tags: [{ label: 'status', value: [{ label: 'Refused', level: 'error' }] }],
    })
    expect(log[0]).toBe('verified')
  })

  test('starts as a program', async () => {
    const script = `setTimeout(() => process.exit(0), 300); process.argv[1] = ${JSON.stringify(EXAMPLE)}; import(${JSON.stringify(EXAMPLE)})`
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script], {
      env: { ...process.env, PORT: '0' },
    })

    expect(stdout).toContain('listening on port')
  })
})
