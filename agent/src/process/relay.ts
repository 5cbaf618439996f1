import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Target of the requests that engines send after their agent has died. */
export type RelayTarget = {
  port: number
  apiUrl: string
  /** A PEM file of CA certificates to trust. */
  certificates: string | undefined
  proxies?: Record<string, string>
}

export const PROXY_VARIABLES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy']

/** The variables of this process's environment with these names. */
export function environmentOf(names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    names.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])),
  )
}

/** Whether a URL refers to this machine, so that the proxy is bypassed. */
export function isLocal(url: string): boolean {
  return /^(127\.|localhost$|\[::1\]$)/.test(new URL(url).hostname)
}

/** The first segment of a path identifies the job at the gateway; the rest is a path of the public API. */
const JOB_PREFIX = /^\/[^/]+\/api\/v2\//
/** Time for the dead agent's port to become free, in ms. */
const LISTEN_TIMEOUT_MS = 1_000
const RETRY_DELAY_MS = 50

/**
 * Replaces the gateway of a dead agent and proxies engines' requests to the public API, so that they can store their
 * state. A version created through the gateway is unknown here: the engine keeps that state in a file. Rejects when the
 * certificates are unreadable.
 *
 * The launcher loads this module at its start, since an upgrade may replace its files later. Large modules of Node are loaded on
 * demand to keep it small.
 */
export async function openRelay({ port, apiUrl, certificates, proxies = {} }: RelayTarget): Promise<void> {
  const [http, https, { pipeline }] = await Promise.all([
    import('node:http'),
    import('node:https'),
    import('node:stream/promises'),
  ])
  const isSecure = apiUrl.startsWith('https:')
  const options = {
    keepAlive: true,
    // Node 20 ignores it.
    ...(isLocal(apiUrl) ? {} : { proxyEnv: proxies }),
    ...(isSecure && certificates !== undefined && { ca: readFileSync(certificates) }),
  }
  const agent = isSecure ? new https.Agent(options) : new http.Agent(options)
  const send = isSecure ? https.request : http.request
  const deadline = performance.now() + LISTEN_TIMEOUT_MS
  const server = http.createServer(relay)
  server.on('error', () => {
    if (performance.now() < deadline) setTimeout(listen, RETRY_DELAY_MS)
  })
  listen()

  function listen() {
    server.listen(port, '127.0.0.1')
  }

  function relay(request: IncomingMessage, response: ServerResponse) {
    const path = JOB_PREFIX.exec(request.url ?? '')?.[0]
    if (path === undefined) {
      request.resume()
      return void response.writeHead(404).end()
    }
    const { host: _, connection: __, ...headers } = request.headers
    const url = apiUrl + (request.url ?? '').slice(path.length)
    const sent = send(url, { agent, method: request.method, headers }, (upstream) => {
      response.writeHead(upstream.statusCode ?? 502, upstream.headers)
      pipeline(upstream, response).catch(() => response.destroy())
    })
    sent.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
    pipeline(request, sent).catch(() => {})
  }
}
