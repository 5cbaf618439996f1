import { type IncomingMessage, createServer, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { RequestRejectedError, openConnection } from '../server/connection.ts'
import { type JobClient, jobClient } from '../server/job-client.ts'
import { ONE_RESOURCE, configuration, startAgent, startServer } from '../testing/agent-fixture.ts'
import type { ProtocolServer } from '../testing/protocol-server.ts'
import { holdLease } from './lease.ts'

/** A proxy in front of a server; `cut(true)` closes its connections and rejects new ones until `cut(false)`. */
async function startProxy(server: ProtocolServer, hangs: (incoming: IncomingMessage) => boolean = () => false) {
  let isCut = false
  const proxy = createServer((incoming, response) => {
    if (hangs(incoming)) return
    const outgoing = request(
      server.url + (incoming.url ?? ''),
      { method: incoming.method, headers: incoming.headers },
      (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers)
        answer.pipe(response)
      },
    )
    outgoing.on('error', () => incoming.socket.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  })
  proxy.on('connection', (socket) => isCut && socket.destroy())
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    cut(from: boolean) {
      isCut = from
      if (from) proxy.closeAllConnections()
    },
  }
}

test.each([
  [0, 1000],
  [2300, 1000],
])('a lease of 4 s survives an interruption after %d ms for %d ms', { timeout: 20_000 }, async (after, length) => {
  const server = await startServer()
  const proxy = await startProxy(server)
  const { id } = server.submit({ configuration: configuration(ONE_RESOURCE), leaseMs: 4000 })
  const connection = openConnection(proxy.url, undefined, () => {})
  const messages: string[] = []
  const events = {
    onCommand() {},
    onUnreachable: (why: string) => messages.push(why),
    onLost: (why: string) => messages.push(why),
    onRejected() {},
  }

  {
    await using _ = holdLease(jobClient(connection, { id, token: 'job-token-1' }), { leaseMs: 4000 }, events)
    await delay(after)
    proxy.cut(true)
    await delay(length)
    proxy.cut(false)
    await delay(1500)
  }
  await connection.dispatcher.close()

  expect(messages).toEqual([])
})

/** A proxy whose connections the network can lose: nothing arrives on those any more, nor on new ones until `lose(false)`. */
async function startLossyProxy(server: ProtocolServer) {
  let isLossy = false
  const sockets = new Set<Socket>()
  const lost = new Set<Socket>()
  const proxy = await startProxy(server, ({ socket }) => {
    sockets.add(socket)
    if (isLossy) lost.add(socket)
    return lost.has(socket)
  })
  return {
    url: proxy.url,
    connections: () => sockets.size,
    lose(from: boolean) {
      isLossy = from
      for (const socket of sockets) lost.add(socket)
    },
  }
}

test.each([
  ['kept connections', 0],
  ['new connections, too, for half of the lease', 2000],
])('a lease of 4 s survives a network that silently drops %s', { timeout: 20_000 }, async (_, length) => {
  const server = await startServer()
  const proxy = await startLossyProxy(server)
  const { id } = server.submit({ configuration: configuration(ONE_RESOURCE), leaseMs: 4000 })
  const connection = openConnection(proxy.url, undefined, () => {})
  onTestFinished(() => connection.dispatcher.destroy())
  const client = jobClient(connection, { id, token: 'job-token-1' })
  const signal = AbortSignal.timeout(15_000)
  const options = { responseMs: 5000, signal }
  await Promise.all(Array.from({ length: 4 }, async () => client.heartbeat(300, 'continue', options)))
  const messages: string[] = []
  const onUnreachable = (why: string) => messages.push(why)
  const events = { onCommand() {}, onUnreachable, onLost: onUnreachable, onRejected() {} }

  {
    await using lease = holdLease(client, { leaseMs: 4000 }, events)
    await lease.acknowledged
    // In the midst of the first long poll.
    await delay(1000)
    proxy.lose(true)
    await delay(length)
    proxy.lose(false)
    await delay(4500)
  }

  expect(proxy.connections()).toBeGreaterThan(4)
  expect(messages).toEqual([])
})

test('during an outage no more than two heartbeats of a job are pending', async () => {
  let sent = 0
  const client = {
    async heartbeat(_: number, __: string, { signal }: { signal: AbortSignal }) {
      sent += 1
      return sent === 1 ? 'continue' : delay(60_000, 'continue', { signal })
    },
  } as unknown as JobClient
  const unreachable = Promise.withResolvers<void>()
  const events = { onCommand() {}, onUnreachable: () => unreachable.resolve(), onLost() {}, onRejected() {} }

  await using _ = holdLease(client, { leaseMs: 3000 }, events)
  await unreachable.promise

  expect(sent).toBe(3)
})

test('a slow acknowledgement renews the lease from when it was sent, like every heartbeat', async () => {
  let beats = 0
  const client = {
    async heartbeat(longPollMs: number, _: string, { signal }: { signal: AbortSignal }) {
      beats += 1
      await delay(beats === 1 ? 1200 : longPollMs, undefined, { signal })
      return 'continue'
    },
  } as unknown as JobClient
  const messages: string[] = []
  const events = { onCommand() {}, onUnreachable: (why: string) => messages.push(why), onLost() {}, onRejected() {} }

  {
    await using lease = holdLease(client, { leaseMs: 2000 }, events)
    await lease.acknowledged
    await delay(1200)
  }

  expect(messages).toEqual([])
  expect(beats).toBeGreaterThan(2)
})

test('heartbeats without a response of the server are reported once per kind', async () => {
  const refusals = [
    new RequestRejectedError('POST /heartbeat', 403, { detail: 'request 1' }),
    new RequestRejectedError('POST /heartbeat', 403, { detail: 'request 2' }),
    new TypeError('no command'),
  ]
  let beats = 0
  const client = {
    async heartbeat(longPollMs: number, _: string, { signal }: { signal: AbortSignal }) {
      beats += 1
      if (beats > 1 && refusals.length > 0) throw refusals.shift()
      await delay(longPollMs, undefined, { signal })
      return 'continue'
    },
  } as unknown as JobClient
  const messages: unknown[] = []
  const events = {
    onCommand() {},
    onUnreachable() {},
    onLost() {},
    onRejected: (error: unknown) => messages.push(error),
  }

  {
    await using _ = holdLease(client, { leaseMs: 30_000 }, events)
    await expect.poll(() => beats).toBe(5)
  }

  expect(messages.map(String)).toEqual([
    'RequestRejectedError: the server responded to POST /heartbeat with 403: request 1',
    'TypeError: no command',
  ])
})

test('an acknowledgement without a response is retried within the first part of the lease', async () => {
  const server = await startServer()
  let beats = 0
  const proxy = await startProxy(server, ({ url }) => url?.endsWith('/heartbeat') === true && (beats += 1) === 1)
  await startAgent(server, { serverUrl: proxy.url })
  await expect.poll(() => server.claims()).toBe(1)
  const started = performance.now()

  const job = server.submit({ configuration: configuration(ONE_RESOURCE) })
  await job.logged(/./)

  expect(performance.now() - started).toBeLessThan(5000)
})
