import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
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
