import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { localCertificate } from '../tls/authority.ts'

/** Starts an https host of static files that serves the directory; returns its URL. Until the test finishes, this process trusts any certificate. */
export async function startStaticHost(directory: string) {
  const { cert, key } = await localCertificate(join(directory, 'tls'), ['127.0.0.1'])
  const server = createServer({ key, cert }, (request, response) => {
    readFile(join(directory, request.url ?? '')).then(
      (content) => response.end(content),
      () => response.writeHead(404).end('not found'),
    )
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0'
  onTestFinished(() => {
    delete process.env['NODE_TLS_REJECT_UNAUTHORIZED']
    server.close()
    server.closeAllConnections()
  })
  return `https://127.0.0.1:${(server.address() as AddressInfo).port}`
}

/** Starts an HTTP proxy that refuses all connections, until the test finishes; `targets` are the hosts that were asked for. */
export async function startConnectProxy() {
  const targets: string[] = []
  const proxy = createHttpServer().on('connect', ({ url = '' }, socket) => {
    targets.push(url)
    socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n')
  })
  proxy.listen(0, '127.0.0.1')
  await once(proxy, 'listening')
  onTestFinished(() => void proxy.close())
  return { url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`, targets }
}
