import { mkdtemp, rm } from 'node:fs/promises'
import { type Server, createServer } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeAll, expect, test } from 'vitest'
import { localCertificate } from '../tls/authority.ts'
import type { Tls } from '../tls/tls.ts'
import { type Listener, createLoopbackServer } from './loopback-server.ts'
import { createOutbound } from './outbound.ts'

const BASE_URL = 'https://groundstate.example/base'
const RECEIVER = `${BASE_URL}/_sample/review`

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

let certificate: Tls
let another: Tls
beforeAll(async () => {
  const directories = [
    await mkdtemp(join(tmpdir(), 'groundstate-own-')),
    await mkdtemp(join(tmpdir(), 'groundstate-own-')),
  ] as const
  certificate = await localCertificate(directories[0], [])
  another = await localCertificate(directories[1], [])
  for (const directory of directories) await rm(directory, { recursive: true })
})

async function listen(server: Server) {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  cleanups.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** A loopback server with these settings, and a client that may not call private addresses. */
function know(given: Partial<Listener> & { origin: string }) {
  const loopbackServer = createLoopbackServer()
  loopbackServer.open({ baseUrl: BASE_URL, certificate: undefined, ...given })
  const outbound = createOutbound({
    allowPrivate: false,
    loopbackServer,
    httpsProxy: 'http://127.0.0.1:9',
    httpProxy: 'http://127.0.0.1:9',
  })
  cleanups.push(
    () => loopbackServer[Symbol.asyncDispose](),
    () => outbound[Symbol.asyncDispose](),
  )
  return { loopbackServer, outbound }
}

const request = { headers: { 'content-type': 'application/json' }, body: Buffer.from('{}'), timeoutMs: 2000 }

test('a request to the built-in receiver bypasses proxies and the rule for addresses', async () => {
  const received: string[] = []
  const port = await listen(
    createServer((incoming, response) => {
      received.push(`${incoming.method} ${incoming.url}`)
      response.end('taken')
    }),
  )
  const { outbound } = know({ origin: `http://127.0.0.1:${port}` })

  const exchange = await outbound.post({ ...request, url: RECEIVER })

  expect(outbound.problem(RECEIVER)).toBeUndefined()
  expect(exchange).toMatchObject({ isPrivate: false, response: { status: 200 } })
  expect(received).toEqual(['POST /_sample/review'])
})

test.each([
  '/_sample/review/',
  '/_sample/review?x=1',
  '/_sample/review#x',
  '/_sample/../_sample/review',
  '/api/v2/ping',
])('a request to %s of this server follows the normal rules', async (path) => {
  const { outbound } = know({ origin: 'http://127.0.0.1:1', baseUrl: 'http://127.0.0.1:7777' })

  const { error } = await outbound.post({ ...request, url: `http://127.0.0.1:7777${path}` })

  expect(error).toContain('is a loopback address, which this server may not call')
})

test('over TLS the listener is identified by its certificate, whatever its name', async () => {
  const port = await listen(createTlsServer(certificate, (_, response) => response.end('secure')))
  const { outbound } = know({ origin: `https://127.0.0.1:${port}`, certificate: certificate.cert })

  const { response } = await outbound.post({ ...request, url: RECEIVER })

  expect(response?.body.toString()).toBe('secure')
})

test('over TLS a listener with another certificate is rejected', async () => {
  const port = await listen(createTlsServer(another, (_, response) => response.end('secure')))
  const { outbound } = know({ origin: `https://127.0.0.1:${port}`, certificate: certificate.cert })

  const { response, error } = await outbound.post({ ...request, url: RECEIVER })

  expect(response).toBeUndefined()
  expect(error).toContain('certificate')
})

test('a URL has a path on the server only below its base URL', () => {
  const { loopbackServer } = know({ origin: 'http://127.0.0.1:1' })

  expect(loopbackServer.pathOf(`${BASE_URL}/api/v2/plans/1`)).toBe('/api/v2/plans/1')
  expect(loopbackServer.pathOf('https://groundstate.example/api')).toBeUndefined()
  expect(loopbackServer.pathOf(`${BASE_URL}.evil.example/api`)).toBeUndefined()
})

test('only the status of a too long response is returned', async () => {
  const port = await listen(createServer((_, response) => response.end('long')))
  const { loopbackServer } = know({ origin: `http://127.0.0.1:${port}` })
  const received = { method: 'GET' as const, path: '/', headers: {}, signal: AbortSignal.timeout(2000) }

  expect(await loopbackServer.request({ ...received, maxBytes: 3 })).toEqual({ status: 200, text: undefined })
  expect(await loopbackServer.request({ ...received, maxBytes: 4 })).toEqual({ status: 200, text: 'long' })
})
