import { request } from 'node:http'
import type { AgentJob } from '@groundstate/contract/agent'
import { expect, onTestFinished, test } from 'vitest'
import { claim, register } from '../server/client.ts'
import { openConnection } from '../server/connection.ts'
import { jobClient } from '../server/job-client.ts'
import { configuration, startServer } from '../testing/agent-fixture.ts'
import { AGENT_TOKEN } from '../testing/protocol-server.ts'
import { createGateway } from './gateway.ts'

/** A claimed job and the gateway for its engine; `serveJob` adds another job to the gateway. */
async function startGateway({ answersEngines = true } = {}) {
  const server = await startServer()
  server.api.answersEngines = answersEngines
  const connection = openConnection(server.url, undefined, () => {})
  const ignore = () => {}
  const log = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const gateway = createGateway({ apiUrl: `${server.url}/api/v2/`, connection, certificates: undefined, log })
  onTestFinished(async () => {
    gateway[Symbol.dispose]()
    await connection.dispatcher.close()
  })
  const signal = AbortSignal.timeout(10_000)
  const facts = { name: 'a', version: '1', os: 'linux', arch: 'x64', concurrency: 1, engines: [], starts: true }
  const { agentId } = await register(connection, AGENT_TOKEN, { ...facts, accepts: ['plan'] }, signal)
  const serveJob = async (workspaceName: string) => {
    const workspaceId = `ws-acme-${workspaceName}`
    server.submit({ configuration: configuration(''), workspaceId, workspaceName })
    const job = (await claim(connection, AGENT_TOKEN, agentId, {
      waitMs: 1_000,
      warmRunIds: [],
      accepts: ['plan'],
      signal,
    })) as AgentJob
    const served = gateway.addJob(job, jobClient(connection, job), { signal, writeLog: ignore })
    return { job, served, base: await served.apiUrl }
  }
  const { job, served, base } = await serveJob('net')
  const ask = async (method: string, path: string, { token = job.engineToken, body }: Asked = {}) =>
    fetch(URL.canParse(path) ? path : base + path, {
      method,
      headers: { authorization: `Bearer ${token}` },
      ...(body !== undefined && { body }),
    })
  const announce = async () => {
    const response = await ask('POST', VERSIONS, { body: PENDING })
    const { data } = (await response.json()) as { data: { id: string; attributes: Record<string, string> } }
    return {
      id: data.id,
      rawUrl: data.attributes['hosted-state-upload-url'] ?? '',
      jsonUrl: data.attributes['hosted-json-state-upload-url'] ?? '',
    }
  }
  return { server, job, served, base, ask, announce, serveJob }
}

type Asked = { token?: string; body?: string }

const VERSIONS = 'workspaces/ws-acme-net/state-versions'
const PENDING = JSON.stringify({
  data: { type: 'state-versions', attributes: { serial: 1, md5: 'x', lineage: 'l' } },
})
const WORKSPACE = 'organizations/acme/workspaces/net'

test('only the engine of a running job gets responses', async () => {
  const { served, base, ask } = await startGateway()

  expect((await ask('GET', WORKSPACE)).status).toBe(200)
  expect((await ask('GET', WORKSPACE, { token: 'another' })).status).toBe(401)
  expect((await ask('GET', new URL(`/another/api/v2/${WORKSPACE}`, base).href)).status).toBe(401)
  served.close()
  expect((await ask('GET', WORKSPACE)).status).toBe(401)
})

test('unknown requests are proxied unchanged', async () => {
  const { server, ask } = await startGateway()

  const response = await ask('GET', 'organizations/acme/workspaces/other')

  expect(response.status).toBe(200)
  expect(response.headers.get('tfp-appname')).toBe('HCP Terraform')
  expect(await response.json()).toMatchObject({ data: { id: 'ws-acme-other' } })
  expect(server.api.requests).toEqual(['GET /api/v2/organizations/acme/workspaces/other'])
})

test('all requests are proxied to a server without responses for engines', async () => {
  const { server, ask, announce } = await startGateway({ answersEngines: false })

  expect((await ask('GET', WORKSPACE)).status).toBe(200)
  const { rawUrl } = await announce()

  expect(rawUrl).toMatch(server.url)
  expect(server.api.requests).toEqual([`GET /api/v2/${WORKSPACE}`, `POST /api/v2/${VERSIONS}`])
})

test('an unreachable server is reported with a status that engines retry', async () => {
  const { server, ask } = await startGateway()
  await ask('GET', WORKSPACE)
  await server.pause()

  expect((await ask('GET', WORKSPACE)).status).toBe(200)
  expect((await ask('GET', 'organizations/acme/workspaces/other')).status).toBe(502)
})

test('a state whose upload is repeated is stored once, and shown as the server has stored it', async () => {
  const { server, ask, announce } = await startGateway()
  const { id, rawUrl, jsonUrl } = await announce()
  const [raw] = await Promise.all([ask('PUT', rawUrl, { body: 'state' }), ask('PUT', jsonUrl, { body: '{}' })])
  const again = await ask('PUT', rawUrl, { body: 'state' })

  expect([raw.status, again.status]).toEqual([200, 200])
  expect(server.api.states).toMatchObject([{ raw: Buffer.from('state'), json: Buffer.from('{}') }])
  const shown = await ask('GET', `state-versions/${id}`)
  expect(shown.status).toBe(200)
  expect(await shown.json()).toMatchObject({ data: { id: 'sv-1', attributes: { serial: 1 } } })
})

test('a state without JSON is stored, and its JSON later', async () => {
  const { server, ask, announce } = await startGateway()
  const { id, rawUrl, jsonUrl } = await announce()

  expect((await ask('PUT', rawUrl, { body: 'state' })).status).toBe(200)
  expect(server.api.states).toMatchObject([{ raw: Buffer.from('state') }])
  expect((await ask('PUT', jsonUrl, { body: '{}' })).status).toBe(200)

  expect(server.api.states).toMatchObject([{ raw: Buffer.from('state'), json: Buffer.from('{}') }])
  expect(await (await ask('GET', `state-versions/${id}`)).json()).toMatchObject({ data: { id: 'sv-1' } })
})

test('a large state is streamed, even after its JSON', async () => {
  const { server, ask, announce } = await startGateway()
  const { rawUrl, jsonUrl } = await announce()
  const large = 'x'.repeat(5 * 1024 * 1024)

  await ask('PUT', jsonUrl, { body: '{}' })
  expect((await ask('PUT', rawUrl, { body: large })).status).toBe(200)

  const [stored] = server.api.states
  expect(stored?.json).toEqual(Buffer.from('{}'))
  // Compared as a whole: byte by byte, this would take seconds.
  expect(stored?.raw?.equals(Buffer.from(large))).toBe(true)
})

test('a rejected state can be uploaded again', async () => {
  const { server, ask, announce } = await startGateway()
  const { rawUrl, jsonUrl } = await announce()
  await ask('PUT', jsonUrl, { body: '{}' })
  server.api.refuseState = 503

  const refused = await ask('PUT', rawUrl, { body: 'state' })
  server.api.refuseState = undefined
  const stored = await ask('PUT', rawUrl, { body: 'state' })

  expect([refused.status, stored.status]).toEqual([503, 200])
  expect(await refused.json()).toMatchObject({ errors: [{ title: 'refused by the test' }] })
  expect(server.api.states).toMatchObject([{ raw: Buffer.from('state'), json: Buffer.from('{}') }])
})

test('after a state was stored the current one is requested again', async () => {
  const { server, ask, announce } = await startGateway()
  const current = 'workspaces/ws-acme-net/current-state-version'
  expect((await ask('GET', current)).status).toBe(404)
  const { rawUrl, jsonUrl } = await announce()
  await Promise.all([ask('PUT', rawUrl, { body: 'state' }), ask('PUT', jsonUrl, { body: '{}' })])

  expect(await (await ask('GET', current)).json()).toMatchObject({ data: { id: 'sv-1' } })
  expect(server.api.requests.at(-1)).toBe(`GET /api/v2/${current}`)
})

test('after a state was created with its content the current one is requested again, even in the next job', async () => {
  const { served, ask } = await startGateway()
  const current = 'workspaces/ws-acme-net/current-state-version'
  expect((await ask('GET', current)).status).toBe(404)
  const attributes = { serial: 1, md5: 'x', lineage: 'l', state: Buffer.from('state').toString('base64') }
  const body = JSON.stringify({ data: { type: 'state-versions', attributes } })
  expect((await ask('POST', VERSIONS, { body })).status).toBe(201)

  expect(await (await ask('GET', current)).json()).toMatchObject({ data: { id: 'sv-1' } })
  expect(served.responses()).toBeUndefined()
})

test('a state that was not sent with the responses is requested, since its URL expires', async () => {
  const { server, ask, announce, serveJob } = await startGateway()
  const { rawUrl } = await announce()
  expect((await ask('PUT', rawUrl, { body: 'x'.repeat(2 * 1024 * 1024) })).status).toBe(200)
  const { job, base } = await serveJob('net')
  const current = 'workspaces/ws-acme-net/current-state-version'
  const before = server.api.requests.length

  const shown = await ask('GET', base + current, { token: job.engineToken })
  const stored = await ask('POST', base + VERSIONS, { token: job.engineToken, body: PENDING })

  expect(await shown.json()).toMatchObject({ data: { id: 'sv-1' } })
  expect(server.api.requests.slice(before)).toEqual([`GET /api/v2/${current}`])
  expect(await stored.text()).toContain(`"hosted-state-upload-url":"${new URL(base).origin}/`)
})

test('a job cannot reach another with its own token or path', async () => {
  const { job, ask, announce, serveJob } = await startGateway()
  const other = await serveJob('other')
  const { rawUrl } = await announce()
  const own = '/api/v2/organizations/acme/workspaces/other'
  const there = other.base.replace('/api/v2/', own)

  expect((await ask('GET', there, { token: other.job.engineToken })).status).toBe(200)
  expect((await ask('GET', there, { token: job.engineToken })).status).toBe(401)
  const object = new URL(rawUrl).pathname.replace(/^\/[^/]+/, '')
  const moved = other.base.replace('/api/v2/', object)
  expect((await ask('PUT', moved, { token: other.job.engineToken, body: 'state' })).status).toBe(401)
})

test('an interrupted upload stores nothing, and can be repeated', async () => {
  const { server, ask, announce } = await startGateway()
  const { rawUrl, jsonUrl } = await announce()
  for (const url of [jsonUrl, rawUrl]) await cutOff(url)

  const [json, raw] = await Promise.all([ask('PUT', jsonUrl, { body: '{}' }), ask('PUT', rawUrl, { body: 'state' })])

  expect([json.status, raw.status]).toEqual([200, 200])
  expect(server.api.states).toMatchObject([{ raw: Buffer.from('state'), json: Buffer.from('{}') }])
})

test('an interrupted large upload stores nothing, and can be repeated', async () => {
  const { server, ask, announce } = await startGateway()
  const { rawUrl } = await announce()
  const large = Buffer.alloc(5 * 1024 * 1024, 'x')

  await cutOff(rawUrl, large.length)
  expect(server.api.current()).toBeUndefined()
  expect((await ask('PUT', rawUrl, { body: large.toString() })).status).toBe(200)

  expect(server.api.states).toHaveLength(1)
  expect(server.api.states[0]?.raw?.equals(large)).toBe(true)
})

/** Disconnects after the first bytes of an upload of `size`. */
async function cutOff(url: string, size = 100) {
  const upload = request(url, { method: 'PUT', headers: { 'content-length': size } })
  upload.on('error', () => {})
  const closed = new Promise((resolve) => upload.once('close', resolve))
  await new Promise((resolve) => upload.write('x', resolve))
  upload.destroy()
  await closed
}
