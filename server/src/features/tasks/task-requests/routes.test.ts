import { AGENT_API, type WorkKind } from '@groundstate/contract/agent'
import { describe, expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { createWorkspace } from '../../../testing/factories.ts'
import { createFakeAgent, type FakeAgent } from '../../../testing/fake-agent.ts'
import { hmac } from '../../../testing/receiver.ts'
import { createTask, eventually, postTask, startDeliveries, type TaskSetting } from '../../../testing/task-runs.ts'
import { createPool } from '../../agents/agent-pools/testing/pools.ts'
import {
  answerVerification,
  createPoolAgent,
  createPoolRun,
  createPoolSetting,
  createPoolTask,
  poolRelation,
  type PoolSetting,
  takeTask,
} from './testing/pool-tasks.ts'

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })
startDeliveries(app)
/** An address that the server itself must not call. */
const INSIDE = 'http://10.1.2.3:8080/task'

async function patchTask(
  setting: Pick<TaskSetting, 'user'>,
  id: string,
  { attributes = {}, relationships = {} }: { attributes?: object; relationships?: object },
) {
  const body = { data: { type: 'tasks', attributes, relationships } }
  return app.request({ method: 'PATCH', url: `/api/v2/tasks/${id}`, token: setting.user.token, body })
}

async function registerAgain({ poolToken }: PoolSetting, { id }: FakeAgent, accepts: readonly WorkKind[]) {
  const body = { agentId: id, name: 'rack', version: '1.0.0', os: 'linux', arch: 'x64', accepts }
  const response = await app.request({ method: 'POST', url: `${AGENT_API}/register`, token: poolToken, body })
  expect(response.json().agentId).toBe(id)
}

describe('a task with an agent pool', () => {
  test('is verified by an agent of the pool, at an address that the server may not call', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    await agent.claimTask()

    const posted = postTask(app, setting, { url: INSIDE, 'hmac-key': 'key' }, poolRelation(setting.poolId))
    const request = await answerVerification(agent)
    const response = await posted

    expect(response.status).toBe(201)
    expect(response.json().data.relationships['agent-pool'].data).toEqual({ id: setting.poolId, type: 'agent-pools' })
    expect(request.url).toBe(INSIDE)
    expect(request.payload).toMatchObject({ access_token: 'test-token', task_result_enforcement_level: 'test' })
    expect(request.headers['X-SVC-Task-Signature']).toBe(hmac(Buffer.from(request.body, 'base64').toString(), 'key'))
    expect(setting.receiver.tests).toHaveLength(0)
  })

  test('is rejected unless its receiver returns 200 to the agent', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    await agent.claimTask()

    const posted = postTask(app, setting, { url: INSIDE }, poolRelation(setting.poolId))
    const request = await takeTask(agent)
    const body = Buffer.from('out of order').toString('base64')
    await request.response({ durationMs: 1, status: 500, headers: {}, body, isTruncated: false })
    const response = await posted

    expect(response.status).toBe(422)
    expect(response.json().errors[0].source.pointer).toBe('/data/attributes/url')
    expect(response.json().errors[0].detail).toContain('the response was 500: out of order')
  })

  test('is rejected immediately if no agent that accepts run tasks is online', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    await agent.claim()

    const without = await postTask(app, setting, { url: INSIDE }, poolRelation(setting.poolId))
    await agent.claimTask()
    app.clock.advance(120_000)
    const silent = await postTask(app, setting, { url: INSIDE }, poolRelation(setting.poolId))

    for (const response of [without, silent]) {
      expect(response.status).toBe(422)
      expect(response.json().errors[0]).toMatchObject({
        detail: 'no agent of the agent pool cellar that accepts run tasks is online: start one, then try again',
        source: { pointer: '/data/relationships/agent-pool/data/id' },
      })
    }
  })

  test('is rejected immediately if the only agent has registered again without run tasks', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    await agent.claimTask()

    await registerAgain(setting, agent, ['plan', 'apply'])
    const response = await postTask(app, setting, { url: INSIDE }, poolRelation(setting.poolId))

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toContain('that accepts run tasks is online')
  })

  test.each(['ftp://10.1.2.3/', 'http://user:secret@10.1.2.3/', 'http://169.254.169.254/latest', 'nonsense'])(
    'is rejected with the URL %s, without a request',
    async (url) => {
      const setting = await createPoolSetting(app)
      const agent = await createPoolAgent(app, setting)
      await agent.claimTask()

      const response = await postTask(app, setting, { url }, poolRelation(setting.poolId))

      expect(response.status).toBe(422)
      expect(response.json().errors[0].source.pointer).toBe('/data/attributes/url')
      expect(await agent.claimTask()).toBeUndefined()
    },
  )

  test('accepts only a pool of its organization, and never the built-in one', async () => {
    const setting = await createPoolSetting(app)
    const stranger = await createPoolSetting(app)

    for (const id of [stranger.poolId, 'apool-builtin', 'apool-none']) {
      const response = await postTask(app, setting, { url: INSIDE }, poolRelation(id))

      expect(response.status).toBe(422)
      expect(response.json().errors[0]).toMatchObject({
        detail: `The provided agent pool does not exist or you are not authorized to use it: ${id} is not a pool of the organization`,
        source: { pointer: '/data/relationships/agent-pool/data/id' },
      })
    }
  })

  test.each([{ data: { type: 'agent-pools' } }, { data: { type: 'workspaces', id: 'ws-1' } }, { data: 'apool' }, 7])(
    'is rejected with the malformed relation %j',
    async (relation) => {
      const setting = await createPoolSetting(app)

      const response = await postTask(app, setting, { url: INSIDE }, { 'agent-pool': relation })

      expect(response.status).toBe(422)
      expect(response.json().errors[0].source.pointer).toMatch(/^\/data\/relationships\/agent-pool/)
    },
  )

  test('may use a pool with a restricted scope: the scope applies only to runs', async () => {
    const setting = await createPoolSetting(app)
    const url = `/api/v2/agent-pools/${setting.poolId}`
    const body = { data: { type: 'agent-pools', attributes: { 'organization-scoped': false } } }
    await app.request({ method: 'PATCH', url, token: setting.user.token, body })
    const agent = await createPoolAgent(app, setting)

    expect(await createPoolTask(app, setting, { agent })).toMatch(/^task-/)
  })

  test('shows its pool, also as an include', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const id = await createPoolTask(app, setting, { agent })

    const response = await app.request({ url: `/api/v2/tasks/${id}?include=agent_pool`, token: setting.user.token })

    expect(response.json().data.relationships['agent-pool'].data.id).toBe(setting.poolId)
    expect(response.json().included).toMatchObject([{ id: setting.poolId, attributes: { name: 'cellar' } }])
  })

  test('keeps the pool in use: it cannot be deleted before the task is detached from it', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const id = await createPoolTask(app, setting, { agent, name: 'scan' })
    const remove = () =>
      app.request({ method: 'DELETE', url: `/api/v2/agent-pools/${setting.poolId}`, token: setting.user.token })

    const refused = await remove()
    await app.request({ method: 'DELETE', url: `/api/v2/tasks/${id}`, token: setting.user.token })

    expect(refused.status).toBe(409)
    expect(refused.json().errors[0].detail).toBe('the agent pool cellar is used by the run task scan')
    expect((await remove()).status).toBe(204)
  })

  test('is named with the workspaces that use the pool, which are sorted and counted', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    await createPoolTask(app, setting, { agent, name: 'scan' })
    const attributes = { 'execution-mode': 'agent', 'agent-pool-id': setting.poolId }
    for (const name of ['g', 'b', 'd', 'a', 'f', 'c', 'e'])
      await createWorkspace(app, { organization: setting.organization, name, attributes })

    const url = `/api/v2/agent-pools/${setting.poolId}`
    const refused = await app.request({ method: 'DELETE', url, token: setting.user.token })

    expect(refused.status).toBe(409)
    expect(refused.json().errors[0].detail).toBe(
      'the agent pool cellar is used by the workspaces a, b, c, d, e and 2 more, and the run task scan',
    )
  })

  test('can be tested through the pool and shows the exchange', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const id = await createPoolTask(app, setting, { agent, url: INSIDE })

    const tested = app.request({ method: 'POST', url: `/api/v2/tasks/${id}/actions/test`, token: setting.user.token })
    const request = await takeTask(agent)
    await request.response({ durationMs: 4, status: 404, headers: { 'x-by': 'inside' }, body: '', isTruncated: false })

    expect((await tested).json().data.attributes).toMatchObject({
      passed: false,
      'duration-ms': 4,
      response: { status: 404, headers: { 'x-by': 'inside' } },
    })
  })
})

describe('a change of the pool', () => {
  test('to a pool verifies the receiver through it', async () => {
    const open = await createTestApp()
    const setting = await createPoolSetting(open)
    const id = await createTask(open, setting)
    const agent = await createPoolAgent(open, setting)
    await agent.claimTask()
    const patch = async (relationships: object) =>
      open.request({
        method: 'PATCH',
        url: `/api/v2/tasks/${id}`,
        token: setting.user.token,
        body: { data: { type: 'tasks', attributes: {}, relationships } },
      })

    const changed = patch(poolRelation(setting.poolId))
    await answerVerification(agent)
    const there = await changed
    const back = await patch(poolRelation(null))

    expect(there.json().data.relationships['agent-pool'].data.id).toBe(setting.poolId)
    expect(back.json().data.relationships['agent-pool'].data).toBeNull()
    expect(setting.receiver.tests).toHaveLength(2)
  })

  test('that removes the pool is rejected while the server itself may not call the receiver', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const id = await createPoolTask(app, setting, { agent, url: INSIDE })

    const response = await patchTask(setting, id, { relationships: poolRelation(null) })

    expect(response.status).toBe(422)
    expect(response.json().errors[0].detail).toContain('GROUNDSTATE_ALLOW_PRIVATE_URLS=true allows it')
  })

  test('to another pool reports a failed verification at the pool', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const other = await createPool(app, setting, { name: 'attic' })
    const id = await createPoolTask(app, setting, { agent })

    const response = await patchTask(setting, id, { relationships: poolRelation(other.id) })

    expect(response.status).toBe(422)
    expect(response.json().errors[0]).toMatchObject({
      detail: expect.stringContaining('agent pool attic'),
      source: { pointer: '/data/relationships/agent-pool/data/id' },
    })
  })

  test('between two attempts applies to the next one', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const { task, id } = await createPoolRun(app, setting, { agent })
    const first = await takeTask(agent)
    const other = await createPool(app, setting, { name: 'attic' })
    const token = await app.request({
      method: 'POST',
      url: `/api/v2/agent-pools/${other.id}/authentication-tokens`,
      token: setting.user.token,
      body: { data: { type: 'authentication-tokens', attributes: { description: 'attic' } } },
    })
    const newcomer = await createFakeAgent(app, {
      token: token.json().data.attributes.token,
      name: 'beam',
      accepts: ['task'],
    })
    await newcomer.claimTask()
    const changed = patchTask(setting, task, { relationships: poolRelation(other.id) })
    await answerVerification(newcomer)
    expect((await changed).status).toBe(200)

    await first.response({ durationMs: 1, error: 'the receiver has moved' })
    const second = await takeTask(newcomer)

    expect(second.payload.task_result_id).toBe(id)
    expect((await second.response()).status).toBe(204)
  })
})

describe('the protocol', () => {
  const post = async (path: string, token: string | undefined, body: unknown) =>
    app.request({ method: 'POST', url: `${AGENT_API}${path}`, token, body })

  test('leases the requests of a pool only to its agents, each once', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const stranger = await createPoolSetting(app)
    const foreign = await createPoolAgent(app, stranger)
    const builtIn = await createFakeAgent(app)
    const { id } = await createPoolRun(app, setting, { agent })

    const request = await takeTask(agent)

    expect(request.payload.task_result_id).toBe(id)
    for (const other of [agent, foreign, builtIn]) expect(await other.claimTask()).toBeUndefined()
  })

  test('ends the waiting claim of an agent that deregisters', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const waiting = agent.claimTask({ waitMs: 60_000 })
    await eventually(async () => {
      await agent.claimTask()
      return true
    })

    await post(`/agents/${agent.id}/deregister`, agent.token, undefined)

    expect(await waiting).toBeUndefined()
    expect((await post(`/agents/${agent.id}/claim-task`, agent.token, { waitMs: 0 })).status).toBe(409)
  })

  test('rejects claims of other tokens and agents', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    const foreign = await createPoolAgent(app, await createPoolSetting(app))
    const path = `/agents/${agent.id}/claim-task`

    expect((await post(path, undefined, { waitMs: 0 })).status).toBe(401)
    expect((await post(path, setting.user.token, { waitMs: 0 })).status).toBe(401)
    expect((await post(path, foreign.token, { waitMs: 0 })).status).toBe(404)
  })

  test.each([{}, { waitMs: -1 }, { waitMs: 60_001 }, { waitMs: 'long' }, { waitMs: 1.5 }])(
    'refuses the malformed claim %j',
    async (body) => {
      const setting = await createPoolSetting(app)
      const agent = await createPoolAgent(app, setting)

      expect((await post(`/agents/${agent.id}/claim-task`, agent.token, body)).status).toBe(422)
    },
  )

  const response = { durationMs: 1, status: 200, headers: {}, body: '', isTruncated: false }

  test.each([
    {},
    { ...response, status: 20 },
    { ...response, status: '200' },
    { ...response, body: 'not base64!' },
    { ...response, body: Buffer.alloc(65 * 1024).toString('base64') },
    { ...response, headers: { a: 1 } },
    { ...response, headers: { a: 'nul \u0000' } },
    { ...response, durationMs: -1 },
    { ...response, durationMs: 1e12 },
    { durationMs: 1, error: '' },
    { durationMs: 1, error: 'nul \u0000' },
  ])('rejects the malformed response %#, and still accepts a valid one', async (body) => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    await createPoolRun(app, setting, { agent })
    const request = await takeTask(agent)
    const path = `/task-requests/${request.id}/answer`

    const refused = await post(path, request.token, body)

    expect(refused.status).toBe(422)
    expect((await post(path, request.token, response)).status).toBe(204)
  })

  test('rejects a response with any other token', async () => {
    const setting = await createPoolSetting(app)
    const agent = await createPoolAgent(app, setting)
    await createPoolRun(app, setting, { agent })
    const request = await takeTask(agent)
    const path = `/task-requests/${request.id}/answer`

    for (const token of [undefined, agent.token, setting.user.token, request.payload.access_token])
      expect((await post(path, token, response)).status).toBe(401)
    expect((await post('/task-requests/taskreq-none/answer', request.token, response)).status).toBe(401)
    expect((await app.request({ url: '/api/v2/account/details', token: request.token })).status).toBe(401)
  })
})
