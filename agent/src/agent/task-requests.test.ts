import { type IncomingMessage, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { startAgent, startServer } from '../testing/agent-fixture.ts'
import { guardedLookup } from './addresses.ts'

/** Requests of run tasks sent by an agent. */

type Reply = (request: IncomingMessage, response: ServerResponse, body: Buffer) => void
type Received = {
  method: string | undefined
  url: string | undefined
  headers: IncomingMessage['headers']
  body: Buffer
}

async function startReceiver(reply: Reply = (_, response) => response.end('thanks')) {
  const received: Received[] = []
  const arrived = Promise.withResolvers<void>()
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const body = Buffer.concat(chunks)
      received.push({ method: request.method, url: request.url, headers: request.headers, body })
      arrived.resolve()
      reply(request, response, body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { url: `http://127.0.0.1:${port}/task?from=agent`, received, arrived: arrived.promise }
}

test('a request is sent unchanged, and the response is reported', async () => {
  const server = await startServer()
  await startAgent(server)
  const receiver = await startReceiver((_, response) => response.writeHead(200, { 'x-by': 'inside' }).end('thanks'))
  const body = Buffer.from([0x7b, 0x22, 0xc3, 0xa9, 0x22, 0x7d])

  const report = await server.tasks.submit({
    url: receiver.url,
    headers: { 'content-type': 'application/json', 'X-TFC-Task-Signature': 'abc', accept: '*/*' },
    body: body.toString('base64'),
  })

  expect(report).toMatchObject({ status: 200, headers: { 'x-by': 'inside' }, isTruncated: false })
  expect('body' in report && Buffer.from(report.body, 'base64').toString()).toBe('thanks')
  expect(receiver.received).toHaveLength(1)
  expect(receiver.received[0]).toMatchObject({
    method: 'POST',
    url: '/task?from=agent',
    headers: { 'x-tfc-task-signature': 'abc', 'content-type': 'application/json', 'content-length': '6' },
    body,
  })
})

test('a redirect is reported, not followed', async () => {
  const server = await startServer()
  await startAgent(server)
  const receiver = await startReceiver((_, response) => response.writeHead(307, { location: '/other' }).end())

  expect(await server.tasks.submit({ url: receiver.url })).toMatchObject({ status: 307 })
  expect(receiver.received).toHaveLength(1)
})

test('the first 64 KB of a long response are reported', async () => {
  const server = await startServer()
  await startAgent(server)
  const receiver = await startReceiver((_, response) => response.end(Buffer.alloc(200_000, 'a')))

  const report = await server.tasks.submit({ url: receiver.url })

  expect(report).toMatchObject({ status: 200, isTruncated: true })
  expect('body' in report && Buffer.from(report.body, 'base64')).toHaveLength(65_536)
})

test('a receiver that exceeds the time limit is reported', async () => {
  const server = await startServer()
  await startAgent(server)
  const receiver = await startReceiver(() => {})

  expect(await server.tasks.submit({ url: receiver.url, timeoutMs: 50 })).toMatchObject({
    error: 'no response within 0.05 s',
  })
})

test('a refused connection is reported with its code', async () => {
  const server = await startServer()
  await startAgent(server)

  expect(await server.tasks.submit({ url: 'http://127.0.0.1:1/' })).toMatchObject({ code: 'ECONNREFUSED' })
})

test.each([
  ['file:///etc/passwd', 'the agent calls http and https URLs only'],
  [
    'http://169.254.169.254/latest/meta-data',
    '169.254.169.254 is a link-local or metadata address, which the agent never calls',
  ],
  ['http://[fe80::1]/', 'fe80::1 is a link-local or metadata address, which the agent never calls'],
  ['http://[::ffff:169.254.169.254]/', 'which the agent never calls'],
  ['http://100.100.100.200/latest/meta-data', 'which the agent never calls'],
  ['http://2852039166/', '169.254.169.254 is a link-local or metadata address, which the agent never calls'],
])('%s is not called', async (url, error) => {
  const server = await startServer()
  await startAgent(server)

  expect(await server.tasks.submit({ url })).toMatchObject({ error: expect.stringContaining(error) })
})

test('a name with permitted addresses is called', async () => {
  const address = await new Promise((resolve, reject) => {
    guardedLookup('localhost', { all: true }, (error, found) => (error ? reject(error) : resolve(found)))
  })

  expect(address).toContainEqual({ address: '127.0.0.1', family: 4 })
})

test('at most ten requests run concurrently', async () => {
  const server = await startServer()
  await startAgent(server)
  const held: ServerResponse[] = []
  const receiver = await startReceiver((_, response) => void held.push(response))

  const responses = Array.from({ length: 11 }, () => server.tasks.submit({ url: receiver.url }))
  await expect.poll(() => held.length).toBe(10)
  expect(server.tasks.claims()).toBe(0)
  held[0]?.end()

  await expect.poll(() => held.length).toBe(11)
  for (const response of held) response.end()
  expect((await Promise.all(responses)).every((report) => 'status' in report && report.status === 200)).toBe(true)
})

test('a draining agent claims no more, and finishes running requests', async () => {
  const server = await startServer()
  const agent = await startAgent(server)
  let finish: (() => void) | undefined
  const receiver = await startReceiver((_, response) => {
    finish = () => void response.end()
  })
  const report = server.tasks.submit({ url: receiver.url })
  await receiver.arrived

  agent.stop()
  await expect.poll(() => server.tasks.claims()).toBe(0)
  finish?.()

  expect(await report).toMatchObject({ status: 200 })
  await agent.ended
})

test('an agent that is stopped forcefully reports that', async () => {
  const server = await startServer()
  const agent = await startAgent(server)
  const receiver = await startReceiver(() => {})
  const report = server.tasks.submit({ url: receiver.url, timeoutMs: 60_000 })
  await receiver.arrived

  agent.stop()
  agent.forceStop()

  expect(await report).toMatchObject({ error: 'the agent was stopped before it received a response' })
  await agent.ended
})

test('a response is reported once the server is reachable again', async () => {
  const server = await startServer()
  await startAgent(server)
  let finish: (() => void) | undefined
  const receiver = await startReceiver((_, response) => {
    finish = () => void response.end()
  })
  const report = server.tasks.submit({ url: receiver.url })
  await receiver.arrived

  await server.pause()
  finish?.()
  await server.resume()

  expect(await report).toMatchObject({ status: 200 })
})

test('an agent for a single job ends after one request', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { accepts: ['task'], single: true })
  const receiver = await startReceiver()
  const first = server.tasks.submit({ url: receiver.url })
  void server.tasks.submit({ url: receiver.url })

  expect(await first).toMatchObject({ status: 200 })
  await agent.ended

  expect(receiver.received).toHaveLength(1)
  expect(server.deregistered).toEqual(['agent-1'])
})

test('a running request counts as work', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { accepts: ['task'], idleTimeoutMs: 300 })
  let finish: (() => void) | undefined
  const receiver = await startReceiver((_, response) => {
    finish = () => void response.end()
  })
  const report = server.tasks.submit({ url: receiver.url })
  await receiver.arrived
  setTimeout(() => finish?.(), 500)

  expect(await report).toMatchObject({ status: 200 })
  expect(server.deregistered).toEqual([])
  await agent.ended
})

test('a request to a host has its method and no body, and its long response is uploaded whole', async () => {
  const server = await startServer()
  await startAgent(server)
  const content = Buffer.alloc(3_000_000, 'host ')
  const receiver = await startReceiver((_, response) => response.writeHead(200, { link: '<next>' }).end(content))
  const host = { kind: 'repository', method: 'GET', body: undefined, maxBytes: 16 * 1024 * 1024 } as const

  const report = await server.tasks.submit({ url: receiver.url, headers: { authorization: 'Bearer key' }, ...host })

  expect(receiver.received[0]).toMatchObject({ method: 'GET', headers: { authorization: 'Bearer key' } })
  expect(receiver.received[0]?.headers).not.toHaveProperty('content-length')
  expect(report).toMatchObject({ status: 200, headers: { link: '<next>' }, isUploaded: true, isTruncated: false })
  expect('body' in report && content.equals(Buffer.from(report.body, 'base64'))).toBe(true)
})

test('an interrupted response of a host is not complete', async () => {
  const server = await startServer()
  await startAgent(server)
  const receiver = await startReceiver((_, response) => {
    response.writeHead(200, { 'content-length': '1000' }).write('half', () => response.destroy())
  })

  const report = await server.tasks.submit({ url: receiver.url, kind: 'repository', method: 'GET' })

  expect(report).toMatchObject({ isTruncated: true })
})

test('an agent claims only the kinds of requests that it accepts', async () => {
  const server = await startServer()
  await startAgent(server, { accepts: ['repository'] })
  await expect.poll(() => server.tasks.claims()).toBe(1)
  const tasks = await startServer()
  await startAgent(tasks, { accepts: ['plan', 'task'] })
  await expect.poll(() => tasks.tasks.claims()).toBe(1)

  expect(server.tasks.accepted()).toEqual(['repository'])
  await expect.poll(() => server.git.claims()).toBe(1)
  expect(tasks.tasks.accepted()).toEqual(['task'])
  expect(tasks.git.claims()).toBe(0)
})

test('requests to hosts do not end an agent for a single job', async () => {
  const server = await startServer()
  const agent = await startAgent(server, { accepts: ['task', 'repository'], single: true })
  const receiver = await startReceiver()

  await server.tasks.submit({ url: receiver.url, kind: 'repository', method: 'GET' })
  const task = await server.tasks.submit({ url: receiver.url })

  expect(task).toMatchObject({ status: 200 })
  expect(receiver.received).toHaveLength(2)
  await agent.ended
})

test('an agent that does not accept tasks claims none', async () => {
  const server = await startServer()
  await startAgent(server, { accepts: ['plan', 'apply'] })

  await expect.poll(() => server.claims()).toBe(1)

  expect(server.tasks.claims()).toBe(0)
})
