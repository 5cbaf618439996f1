import { mkdtemp, readFile } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../testing/app.ts'
import { atEnd } from '../../../testing/cleanup.ts'
import { createOrganization, createUser } from '../../../testing/factories.ts'
import { hmac, startReceiver } from '../../../testing/receiver.ts'
import { createTask, postTask } from '../../../testing/task-runs.ts'
import { localCertificate } from '../../../tls/authority.ts'

/** The verification request of a new receiver, and which receivers are allowed. */

const app = await createTestApp({
  GROUNDSTATE_BASE_URL: 'https://groundstate.example',
  GROUNDSTATE_ALLOW_PRIVATE_URLS: 'true',
})
const closed = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })

async function setUp(app: TestApp) {
  const user = await createUser(app, { isSiteAdmin: true })
  const { name } = await createOrganization(app, user)
  return { user, organization: name, receiver: await startReceiver() }
}

describe('the verification request', () => {
  test('has every key of a task request, names a run that does not exist, and is signed', async () => {
    const setting = await setUp(app)

    await createTask(app, setting, { 'hmac-key': 'key' })

    const [request] = setting.receiver.tests
    const api = 'https://groundstate.example/api/v2'
    const workspaceUrl = `https://groundstate.example/app/${setting.organization}/workspaces/test-workspace`
    expect(request?.payload).toEqual({
      payload_version: 1,
      stage: 'post_plan',
      access_token: 'test-token',
      capabilities: { outcomes: true },
      configuration_version_download_url: `${api}/configuration-versions/cv-xxxxxxxxxxxxxxxx/download`,
      configuration_version_id: 'cv-xxxxxxxxxxxxxxxx',
      is_speculative: false,
      organization_name: setting.organization,
      plan_json_api_url: `${api}/plans/plan-xxxxxxxxxxxxxxxx/json-output`,
      run_app_url: `${workspaceUrl}/runs/run-xxxxxxxxxxxxxxxx`,
      run_created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      run_created_by: 'test-user',
      run_id: 'run-xxxxxxxxxxxxxxxx',
      run_message: 'Verification of the run task',
      task_result_callback_url: `${api}/task-results/taskrs-xxxxxxxxxxxxxxxx/callback`,
      task_result_enforcement_level: 'test',
      task_result_id: 'taskrs-xxxxxxxxxxxxxxxx',
      vcs_branch: null,
      vcs_commit_url: null,
      vcs_pull_request_url: null,
      vcs_repo_url: null,
      workspace_app_url: workspaceUrl,
      workspace_id: 'ws-xxxxxxxxxxxxxxxx',
      workspace_name: 'test-workspace',
      workspace_working_directory: '',
    })
    expect(request?.headers['x-svc-task-signature']).toBe(hmac(request?.body ?? '', 'key'))
    expect(request?.headers['x-tfc-task-signature']).toBe(hmac(request?.body ?? '', 'key'))
  })
})

describe('a receiver on a private address', () => {
  test('is allowed by default on a server that only this machine can reach', async () => {
    const setting = await setUp(app)

    expect((await postTask(app, setting, { url: setting.receiver.url })).status).toBe(201)
  })

  test.each([
    ['the base URL names another host', { GROUNDSTATE_BASE_URL: 'https://groundstate.example' }, 422],
    ['the server listens on all addresses', { GROUNDSTATE_HOST: '0.0.0.0' }, 422],
    ['the base URL is a loopback address', { GROUNDSTATE_BASE_URL: 'http://localhost:7777' }, 201],
  ])('by default, if %s, has this status', async (_, settings, status) => {
    const other = await createTestApp(settings)
    const setting = await setUp(other)

    const response = await postTask(other, setting, { url: setting.receiver.url })

    expect(response.status).toBe(status)
    expect(setting.receiver.tests).toHaveLength(status === 201 ? 1 : 0)
  })

  test.each(['127.0.0.1', 'localhost'])(
    'is rejected as %s without a request if private addresses are blocked',
    async (host) => {
      const setting = await setUp(closed)

      const response = await postTask(closed, setting, { url: setting.receiver.url.replace('127.0.0.1', host) })

      expect(response.status).toBe(422)
      expect(response.json().errors[0]).toMatchObject({ source: { pointer: '/data/attributes/url' } })
      expect(response.json().errors[0].detail).toContain('GROUNDSTATE_ALLOW_PRIVATE_URLS=true allows it')
      expect(setting.receiver.tests).toHaveLength(0)
    },
  )
})

describe('a receiver with a certificate of a private authority', () => {
  async function startSecureReceiver() {
    const certificate = await localCertificate(await mkdtemp(join(tmpdir(), 'groundstate-receiver-')), [])
    const server = createServer(certificate, (request, response) => {
      request.resume()
      response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    atEnd(() => {
      server.closeAllConnections()
      server.close()
    })
    return {
      url: `https://127.0.0.1:${(server.address() as AddressInfo).port}/`,
      ca: await readFile(certificate.caFile ?? '', 'utf8'),
    }
  }

  test('is trusted by the task that names the authority, and by no other', async () => {
    const setting = await setUp(app)
    const { url, ca } = await startSecureReceiver()

    const trusting = await postTask(app, setting, { url, 'ca-certificate': ca })
    const other = await postTask(app, setting, { url })

    expect(trusting.status).toBe(201)
    expect(trusting.json().data.attributes['ca-certificate']).toBe(ca)
    expect(other.status).toBe(422)
    expect(other.json().errors[0].detail).toContain('set the ca-certificate of the task')
  })

  test('is verified again when the authority is removed', async () => {
    const setting = await setUp(app)
    const { url, ca } = await startSecureReceiver()
    const task = (await postTask(app, setting, { url, 'ca-certificate': ca })).json().data.id

    const response = await app.request({
      method: 'PATCH',
      url: `/api/v2/tasks/${task}`,
      token: setting.user.token,
      body: { data: { type: 'tasks', attributes: { 'ca-certificate': null } } },
    })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toContain('unknown authority')
    expect(response.json().errors[0].source.pointer).toBe('/data/attributes/ca-certificate')
  })
})
