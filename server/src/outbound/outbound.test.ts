import { mkdtemp, readFile } from 'node:fs/promises'
import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { type AddressInfo, connect, createServer as createTcpServer, isIP, type Server as TcpServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { localCertificate } from '../tls/authority.ts'
import { createOutbound, MAX_BODY_BYTES, OutboundError, type OutboundOptions } from './outbound.ts'

const cleanups: (() => unknown)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0)) await cleanup()
})

function outbound(options: Partial<OutboundOptions> = {}) {
  const created = createOutbound({ allowPrivate: true, ...options })
  cleanups.push(() => created[Symbol.asyncDispose]())
  return created
}

async function listen(server: Server | TcpServer, host = '127.0.0.1') {
  await new Promise<void>((resolve) => server.listen(0, host, resolve))
  cleanups.push(() => {
    if ('closeAllConnections' in server) server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const serve = async (listener: RequestListener) => `http://127.0.0.1:${await listen(createServer(listener))}/`

const request = { headers: { 'content-type': 'application/json' }, body: Buffer.from('{}'), timeoutMs: 2000 }

test.each([
  [204, ''],
  [205, ''],
  [418, 'teapot'],
])('a fetch returns a response of status %i', async (status, text) => {
  const url = await serve((_, response) => response.writeHead(status).end(text))

  const response = await outbound().fetch(url, { method: 'GET', headers: {} })

  expect([response.status, await response.text()]).toEqual([status, text])
})

test('a fetch rejects a status that HTTP does not have', async () => {
  const url = await serve((_, response) => response.writeHead(999).end())

  await expect(outbound().fetch(url, { method: 'GET', headers: {} })).rejects.toThrow(OutboundError)
})

describe('a request', () => {
  test('returns status, headers, body and duration of its response', async () => {
    const url = await serve((_, response) => response.writeHead(202, { 'x-seen': 'yes' }).end('thanks'))

    const { response, durationMs } = await outbound().post({ ...request, url })

    expect(response).toMatchObject({ status: 202, truncated: false })
    expect(response?.headers['x-seen']).toBe('yes')
    expect(response?.body.toString()).toBe('thanks')
    expect(durationMs).toBeGreaterThanOrEqual(0)
  })

  test('follows no redirect', async () => {
    let calls = 0
    const url = await serve((_, response) => {
      calls += 1
      response.writeHead(302, { location: '/elsewhere' }).end()
    })

    expect((await outbound().post({ ...request, url })).response?.status).toBe(302)
    expect(calls).toBe(1)
  })

  test('reads only the beginning of a body', async () => {
    const url = await serve((_, response) => response.end(Buffer.alloc(MAX_BODY_BYTES * 4, 'x')))

    const { response } = await outbound().post({ ...request, url })

    expect(response).toMatchObject({ status: 200, truncated: true })
    expect(response?.body.length).toBe(MAX_BODY_BYTES)
  })

  test('times out', async () => {
    const url = await serve(() => {})

    const { error } = await outbound().post({ ...request, url, timeoutMs: 100 })

    expect(error).toBe('no response within 0.1 s')
  })

  test('reports a dropped connection', async () => {
    const url = await serve((incoming) => incoming.socket.destroy())

    expect((await outbound().post({ ...request, url })).error).toContain('the connection was closed before a response')
  })

  test('reports a refused connection', async () => {
    const port = await listen(createTcpServer())
    await cleanups.pop()?.()

    const { error } = await outbound().post({ ...request, url: `http://127.0.0.1:${port}/` })

    expect(error).toContain('nothing is listening there')
  })

  test('reports a response that is not HTTP', async () => {
    const port = await listen(createTcpServer((socket) => socket.end('220 mail.example ESMTP\r\n')))

    expect((await outbound().post({ ...request, url: `http://127.0.0.1:${port}/` })).error).toContain('is not HTTP')
  })
})

test('a port without TLS is reported as such', async () => {
  const url = await serve((_, response) => void response.end())

  const { error } = await outbound().post({ ...request, url: url.replace('http:', 'https:') })

  expect(error).toMatch(/^the host does not use TLS on this port: use its TLS port, or an http URL \(ERR_SSL_\w+\)$/)
})

describe('private addresses', () => {
  test('are not called unless allowed, by address or by name', async () => {
    let calls = 0
    const url = await serve((_, response) => {
      calls += 1
      response.end()
    })
    const guarded = outbound({ allowPrivate: false })

    expect((await guarded.post({ ...request, url })).error).toContain('loopback address')
    const named = await guarded.post({ ...request, url: url.replace('127.0.0.1', 'localhost') })

    expect(named.error).toMatch(/^localhost resolves to a loopback address, which this server may not call/)
    expect(calls).toBe(0)
  })

  test('are called by name if allowed', async () => {
    const url = await serve((_, response) => response.end())

    const { response } = await outbound().post({ ...request, url: url.replace('127.0.0.1', 'localhost') })

    expect(response?.status).toBe(200)
  })
})

describe('the name of a receiver', () => {
  /** A resolver that gives these responses in order, and repeats the last one. */
  function answering(...responses: string[][]): OutboundOptions['resolve'] {
    return (_, __, callback) => {
      const addresses = responses.length > 1 ? responses.shift() : responses[0]
      callback(
        null,
        (addresses ?? []).map((address) => ({ address, family: isIP(address) })),
      )
    }
  }
  const named = (url: string) => url.replace('127.0.0.1', 'receiver.example')

  test('is checked for every connection, so a changed address is detected', async () => {
    let calls = 0
    const url = named(
      await serve((_, response) => {
        calls += 1
        response.writeHead(200, { connection: 'close' }).end()
      }),
    )
    // A name is resolved twice before it is called on a private address: as one on the internet first.
    const client = outbound({ resolve: answering(['127.0.0.1'], ['127.0.0.1'], ['169.254.169.254']) })

    const first = await client.post({ ...request, url })
    const second = await client.post({ ...request, url })

    expect(first.response?.status).toBe(200)
    expect(second.error).toContain(
      'receiver.example resolves to a link-local address, and requests there are not allowed',
    )
    expect(calls).toBe(1)
  })

  test('is connected to at the checked address', async () => {
    const url = named(await serve((_, response) => response.end()))
    const resolve = answering(['127.0.0.1'], ['127.0.0.1'], ['127.0.0.2'])

    const { response } = await outbound({ resolve }).post({ ...request, url })

    expect(response?.status).toBe(200)
  })

  test('with one forbidden address among allowed ones is not called', async () => {
    const url = named(await serve((_, response) => response.end()))

    const { error } = await outbound({ resolve: answering(['127.0.0.1', '169.254.169.254']) }).post({ ...request, url })

    expect(error).toContain('receiver.example resolves to a link-local address, and requests there are not allowed')
  })

  test('determines whether a response comes from a private address, also after a public one', async () => {
    const url = await serve((_, response) => response.end())
    const client = outbound({ resolve: answering(['127.0.0.1']) })

    expect(await client.post({ ...request, url: named(url) })).toMatchObject({ isPrivate: true })
    expect(await client.post({ ...request, url: named(url) })).toMatchObject({ isPrivate: true })
    expect(await client.post({ ...request, url })).toMatchObject({ isPrivate: true })
  })
})

describe('a proxy for http', () => {
  test('gets the whole URL, even if it has a private address and these are forbidden', async () => {
    const received: string[] = []
    const proxy = await listen(
      createServer((incoming, response) => {
        received.push(`${incoming.method} ${incoming.url}`)
        response.end('through')
      }),
    )
    const client = outbound({ allowPrivate: false, httpProxy: `http://127.0.0.1:${proxy}` })

    const { response } = await client.post({ ...request, url: 'http://receiver.example:8080/task?x=1' })

    expect(response?.body.toString()).toBe('through')
    expect(received).toEqual(['POST http://receiver.example:8080/task?x=1'])
  })

  test('is not used for a forbidden private address', async () => {
    const client = outbound({ allowPrivate: false, httpProxy: 'http://127.0.0.1:9' })

    expect((await client.post({ ...request, url: 'http://10.0.0.1:8080/' })).error).toContain('private address')
  })

  test('is not used for addresses that bypass it', async () => {
    const url = await serve((_, response) => response.end())
    const port = new URL(url).port
    const client = outbound({ allowPrivate: false, httpProxy: 'http://127.0.0.1:9', noProxy: 'localhost' })

    expect((await client.post({ ...request, url: `http://localhost:${port}/` })).error).toContain('loopback address')
  })
})

describe('TLS', () => {
  const certificate = mkdtemp(join(tmpdir(), 'groundstate-outbound-')).then(async (directory) =>
    localCertificate(directory, []),
  )
  const authority = async () => readFile((await certificate).caFile ?? '', 'utf8')
  const secure = async () => {
    return listen(
      createTlsServer(await certificate, (_, response) => response.end('secure')),
      '0.0.0.0',
    )
  }

  test('an unknown authority is rejected, but trusted for a task that sets it', async () => {
    const url = `https://localhost:${await secure()}/`
    const client = outbound()

    expect((await client.post({ ...request, url })).error).toContain('NODE_EXTRA_CA_CERTS')
    expect((await client.post({ ...request, url, trust: 'trust it' })).error).toContain('trust it')
    await expect(client.fetch(url, { method: 'GET', headers: {} })).rejects.toThrow('NODE_EXTRA_CA_CERTS')
    expect((await client.post({ ...request, url, ca: await authority() })).response?.status).toBe(200)
    expect((await client.post({ ...request, url })).error).toContain('unknown authority')
  })

  test('a certificate for another name is rejected', async () => {
    const url = `https://127.0.0.2:${await secure()}/`

    expect((await outbound().post({ ...request, url, ca: await authority() })).error).toContain(
      'the certificate is for another name',
    )
  })

  test('goes through the proxy for https, which connects to the given target', async () => {
    const port = await secure()
    const received: string[] = []
    const proxy = createServer().on('connect', (incoming, socket) => {
      received.push(incoming.url ?? '')
      const target = connect(port, '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n')
        target.pipe(socket).pipe(target)
      })
      target.on('error', () => socket.destroy())
    })
    const httpsProxy = `http://127.0.0.1:${await listen(proxy)}`
    const url = `https://localhost:${port}/`

    const through = await outbound({ httpsProxy }).post({ ...request, url, ca: await authority() })
    const around = await outbound({ httpsProxy, noProxy: 'localhost' }).post({ ...request, url, ca: await authority() })

    expect(through.response?.body.toString()).toBe('secure')
    expect(around.response?.body.toString()).toBe('secure')
    expect(received).toEqual([`localhost:${port}`])
  })
})
