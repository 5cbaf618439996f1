import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runAgent } from '@groundstate/agent/agent/agent'
import { createAgentLog } from '@groundstate/agent/log'
import { expect, test } from 'vitest'
import { createTestApp } from '../../../testing/app.ts'
import { atEnd } from '../../../testing/cleanup.ts'
import { hmac, startReceiver } from '../../../testing/receiver.ts'
import { addWorkspace, createRun } from '../../../testing/runs.ts'
import { attachTask, callBack, postTask, readResult, runReaches, startDeliveries } from '../../../testing/task-runs.ts'
import { localCertificate } from '../../../tls/authority.ts'
import { loggedDeliveries } from '../task-results/testing/deliveries.ts'
import { type PoolSetting, createPoolSetting, poolRelation } from './testing/pool-tasks.ts'

/** The real agent between the server and a real receiver, which the server itself may not call. */

const app = await createTestApp({ GROUNDSTATE_ALLOW_PRIVATE_URLS: 'false' })
startDeliveries(app)
const serverUrl = await app.listen()
const setting = await createPoolSetting(app)
await startAgent(setting)

async function startAgent({ poolToken }: PoolSetting) {
  const workDir = await mkdtemp(join(tmpdir(), 'groundstate-agent-'))
  const stop = new AbortController()
  const ignore = () => {}
  const log = createAgentLog({ debug: ignore, info: ignore, warn: ignore, error: ignore })
  const ended = runAgent({
    serverUrl,
    token: poolToken,
    name: 'rack',
    concurrency: 1,
    workDir,
    log,
    signal: stop.signal,
  })
  atEnd(async () => {
    stop.abort()
    await ended
    await rm(workDir, { recursive: true, force: true })
  })
}

/** Creates a task for the receiver, once the agent is online to verify it. */
async function createTask(attributes: Record<string, unknown>) {
  for (;;) {
    const response = await postTask(app, setting, attributes, poolRelation(setting.poolId))
    if (response.status === 201) return response.json().data.id as string
    if (!response.text.includes('is online')) throw new Error(response.text)
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
}

/** A new workspace with the task attached. */
async function workspaceWith(task: string) {
  const workspace = await addWorkspace(app, setting)
  await attachTask(app, workspace, { task, stages: ['pre_plan'] })
  return workspace
}

test("a receiver in the agent's network is verified, gets one request and decides the run", async () => {
  const receiver = await startReceiver()
  const workspace = await workspaceWith(await createTask({ url: receiver.url, 'hmac-key': 'key' }))
  const run = await createRun(app, workspace)

  const { body, headers, payload } = await receiver.received(1)
  expect((await callBack(app, payload, { status: 'passed', message: 'fine' })).status).toBe(200)
  await runReaches(app, setting, { run, status: 'plan_queued' })
  const [row] = await loggedDeliveries(app, setting, { id: payload.task_result_id, count: 1 })

  expect(headers['x-tfc-task-signature']).toBe(hmac(body, 'key'))
  expect(receiver.tests).toHaveLength(1)
  expect(receiver.requests).toHaveLength(1)
  expect(row.attributes).toMatchObject({ 'agent-name': 'rack', error: null, response: { status: 200, body: 'ok' } })
  expect((await readResult(app, setting, payload.task_result_id)).attributes.message).toBe('fine')
})

test('after a 500 the same bytes are resent', async () => {
  const receiver = await startReceiver()
  receiver.onRequest = (_, response) => response.writeHead(receiver.requests.length === 1 ? 500 : 200).end()
  await createRun(app, await workspaceWith(await createTask({ url: receiver.url })))

  const first = await receiver.received(1)
  const second = await receiver.received(2)
  const rows = await loggedDeliveries(app, setting, { id: first.payload.task_result_id, count: 2 })

  expect(second.body).toBe(first.body)
  expect(rows[1].attributes.error).toContain('the response was 500')
  expect(rows[0].attributes.error).toBeNull()
})

test('a certificate of a private authority is trusted by the task that names the authority', async () => {
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
  const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}/`
  const ca = await readFile(certificate.caFile ?? '', 'utf8')

  expect(await createTask({ url, 'ca-certificate': ca })).toMatch(/^task-/)
  const other = await postTask(app, setting, { url }, poolRelation(setting.poolId))

  expect(other.status).toBe(422)
  expect(other.json().errors[0].detail).toContain('set the ca-certificate of the task')
})

test('an idle agent is notified of a request without polling again', async () => {
  const receiver = await startReceiver()
  const workspace = await workspaceWith(await createTask({ url: receiver.url }))
  const waits: number[] = []

  for (let count = 1; count <= 10; count += 1) {
    const run = await createRun(app, workspace)
    const { at, payload } = await receiver.received(count)
    const { attributes } = await readResult(app, setting, payload.task_result_id)
    waits.push(performance.timeOrigin + at - Date.parse(attributes['status-timestamps']['running-at']))
    await callBack(app, payload, { status: 'failed' })
    await runReaches(app, setting, { run, status: 'errored' })
  }

  // Far below the poll interval, even on a busy machine.
  expect(Math.min(...waits)).toBeLessThan(500)
})
