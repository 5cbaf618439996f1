import { createServer, request } from 'node:http'
import { atEnd } from '../server/src/testing/cleanup.ts'
import { listen } from '../server/src/testing/ports.ts'

/**
 * A proxy that serves the server on `port` below a path and returns 404 elsewhere. It keeps
 * the path in requests or strips it. Returns its URL with the path.
 */
export async function startPathProxy({ path, port, strips }: { path: string; port: number; strips: boolean }) {
  const proxy = createServer((asked, response) => {
    const { url = '', method, headers } = asked
    if (url !== path && !url.startsWith(`${path}/`)) {
      response.writeHead(404).end('nothing here')
      return
    }
    const target = strips ? url.slice(path.length) || '/' : url
    const forwarded = request({ host: '127.0.0.1', port, path: target, method, headers }, (got) => {
      response.writeHead(got.statusCode ?? 502, got.headers)
      got.pipe(response)
    })
    forwarded.on('error', () => response.destroy())
    response.on('close', () => forwarded.destroy())
    asked.pipe(forwarded)
  })
  atEnd(() => {
    proxy.closeAllConnections()
    proxy.close()
  })
  return `http://127.0.0.1:${await listen(proxy)}${path}`
}
