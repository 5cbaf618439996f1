import { fork } from 'node:child_process'
import { once } from 'node:events'
import { copyFile, readFile, rm } from 'node:fs/promises'
import { type IncomingMessage, type RequestListener, type Server, type ServerResponse, createServer } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { type AddressInfo, connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import { temporaryDirectory } from '../testing/agent-fixture.ts'
import { makeCertificate } from '../testing/certificate.ts'
import type { FromLauncher, OrphanSpec, ToLauncher } from './launcher-process.ts'
import type { RelayTarget } from './relay.ts'

/** The launcher process and the modules that it loads at its start. */
const PROGRAM = ['launcher-process.ts', 'confined-file.ts', 'errors.ts', 'relay.ts', 'user-processes.ts']

/** An engine that is interrupted and then stores its state: like the real one, it retries while the server is unreachable. */
const ENGINE = `
const [url] = process.argv.slice(1)
const store = () => fetch(url, { method: 'PUT', headers: { authorization: 'Bearer t' }, body: 'the state' }).then(
  async (answer) => { console.log('answer ' + answer.status + ' ' + await answer.text()); process.exit() },
  () => setTimeout(store, 20))
process.on('SIGINT', store)
setInterval(() => {}, 1000)
console.log('started')
`

async function listening(server: Server): Promise<number> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

/** Records requests, and responds like the server to a stored state. */
function createReceiver() {
  const received: string[] = []
  const keep = async (request: IncomingMessage, response: ServerResponse) => {
    received.push(`${request.method} ${request.url} ${request.headers.authorization} ${await text(request)}`)
    response.writeHead(201).end('stored')
  }
  const listener: RequestListener = (request, response) => void keep(request, response)
  return { received, listener }
}

/** A proxy that connects any name to one server. */
async function startProxy(port: number) {
  const requests: string[] = []
  const proxy = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    const { pathname } = new URL(request.url ?? '')
    void fetch(`http://127.0.0.1:${port}${pathname}`, {
      method: request.method ?? '',
      headers: { authorization: request.headers.authorization ?? '' },
      body: request,
      duplex: 'half',
    }).then(async (answer) => response.writeHead(answer.status).end(await answer.text()))
  })
  proxy.on('connect', (request, client) => {
    requests.push(`${request.method} ${request.url}`)
    const onward = connect(port, '127.0.0.1', () => client.write('HTTP/1.1 200 OK\r\n\r\n'))
    onward.pipe(client).pipe(onward)
    for (const socket of [onward, client]) socket.on('error', () => socket.destroy())
  })
  return { requests, url: `http://127.0.0.1:${await listening(proxy)}` }
}

/** Lets an engine store its state after its agent died; resolves with the engine's output. */
async function storeWithoutAgent(target: Omit<RelayTarget, 'port'>, beforeTheEnd = async (_program: string) => {}) {
  const [directory, program] = [await temporaryDirectory(), await temporaryDirectory()]
  for (const name of PROGRAM) await copyFile(join(import.meta.dirname, name), join(program, name))
  const gateway = createServer()
  const port = await listening(gateway)
  gateway.close()
  const orphan: OrphanSpec = {
    pidFile: join(directory, 'pid'),
    logFile: join(directory, 'log'),
    logLimit: { bytes: 1024, notice: '' },
    exitFile: join(directory, 'exit.json'),
    interruptedFile: join(directory, 'interrupted'),
    graceMs: 10_000,
    relay: { ...target, port },
  }
  const url = `http://127.0.0.1:${port}/secret/api/v2/state-versions/sv-1/upload`
  const spec = { file: process.execPath, args: ['-e', ENGINE, url], cwd: directory, env: {}, orphan }
  const launcher = fork(join(program, 'launcher-process.ts'), { env: {}, detached: true, serialization: 'advanced' })
  const started = Promise.withResolvers<void>()
  launcher.on('message', (message) => (message as FromLauncher).event === 'output' && started.resolve())

  launcher.send({ id: 1, action: 'launch', spec } satisfies ToLauncher)
  await started.promise
  await beforeTheEnd(program)
  launcher.disconnect()
  await once(launcher, 'exit')

  return readFile(orphan.logFile, 'utf8')
}

const STORED = 'PUT /api/v2/state-versions/sv-1/upload Bearer t the state'

test('an engine whose agent has died stores its state at a server with a certificate of the configured authority', async () => {
  const { file, ...tls } = await makeCertificate('IP:127.0.0.1')
  const { received, listener } = createReceiver()
  const port = await listening(createHttpsServer(tls, listener))

  const output = await storeWithoutAgent({ apiUrl: `https://127.0.0.1:${port}/api/v2/`, certificates: file })

  expect(received).toEqual([STORED])
  expect(output).toContain('answer 201 stored')
})

test('a server with an unknown certificate does not get the state', async () => {
  const { file: _, ...tls } = await makeCertificate('IP:127.0.0.1')
  const { received, listener } = createReceiver()
  const port = await listening(createHttpsServer(tls, listener))

  const output = await storeWithoutAgent({ apiUrl: `https://127.0.0.1:${port}/api/v2/`, certificates: undefined })

  expect(received).toEqual([])
  expect(output).toContain('answer 502')
})

test.for(['HTTP_PROXY', 'http_proxy'])('the server is reached through the proxy of %s', async (name) => {
  const { received, listener } = createReceiver()
  const proxy = await startProxy(await listening(createServer(listener)))

  const output = await storeWithoutAgent({
    apiUrl: 'http://groundstate.invalid/api/v2/',
    certificates: undefined,
    proxies: { [name]: proxy.url },
  })

  expect(proxy.requests).toEqual(['PUT http://groundstate.invalid/api/v2/state-versions/sv-1/upload'])
  expect(received).toEqual([STORED])
  expect(output).toContain('answer 201 stored')
})

test('a server with https is reached through a tunnel of the proxy', async () => {
  const { file, ...tls } = await makeCertificate('DNS:groundstate.invalid')
  const { received, listener } = createReceiver()
  const proxy = await startProxy(await listening(createHttpsServer(tls, listener)))

  const output = await storeWithoutAgent({
    apiUrl: 'https://groundstate.invalid/api/v2/',
    certificates: file,
    proxies: { HTTPS_PROXY: proxy.url },
  })

  expect(proxy.requests).toEqual(['CONNECT groundstate.invalid:443'])
  expect(received).toEqual([STORED])
  expect(output).toContain('answer 201 stored')
})

test('no proxy is used for excluded names and for this machine', async () => {
  const { received, listener } = createReceiver()
  const port = await listening(createServer(listener))
  const proxy = await startProxy(port)
  const proxies = { HTTP_PROXY: proxy.url }

  const own = await storeWithoutAgent({ apiUrl: `http://127.0.0.1:${port}/api/v2/`, certificates: undefined, proxies })
  const excepted = await storeWithoutAgent({
    apiUrl: 'http://groundstate.invalid/api/v2/',
    certificates: undefined,
    proxies: { ...proxies, NO_PROXY: '.invalid' },
  })

  expect(proxy.requests).toEqual([])
  expect(received).toEqual([STORED])
  expect(own).toContain('answer 201 stored')
  expect(excepted).toContain('answer 502')
})

test('the state is stored after an upgrade has replaced the files of the launcher', async () => {
  const { received, listener } = createReceiver()
  const port = await listening(createServer(listener))
  const target = { apiUrl: `http://127.0.0.1:${port}/api/v2/`, certificates: undefined }

  const output = await storeWithoutAgent(target, async (program) => rm(program, { recursive: true }))

  expect(received).toEqual([STORED])
  expect(output).toContain('answer 201 stored')
})
