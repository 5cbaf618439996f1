import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Target of the requests that engines send after their agent has died. */
export type RelayTarget = {
  /** Port of the agent's gateway. */
  port: number
  /** Base of the server's public API. */
  apiUrl: string
  /** A PEM file of CA certificates to trust. */
  certificates: string | undefined
  /** The proxy variables of the agent's environment. */
  proxies?: Record<string, string>
}

const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy']

/** Selects the proxy variables. */
export function proxiesOf(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(PROXIES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
}

/** The first segment of a path identifies the job at the gateway; the rest is a path of the public API. */
const OF_JOB = /^\/[^/]+\/api\/v2\//
/** How long the agent may still hold the port, in ms. */
const OPEN_MS = 1_000
const RETRY_DELAY_MS = 50

/**
 * Replaces the gateway of a dead agent and proxies engines' requests to the public API, so that they can store their
 * state. A version created through the gateway is unknown here: the engine keeps that state in a file. Rejects when the
 * certificates can't be read.
 *
 * The launcher loads this module at its start, since an upgrade may replace its files later. It stays small:
 * large modules are Node's own, and loaded on demand.
 */
export async function openRelay({ port, apiUrl, certificates, proxies = {} }: RelayTarget): Promise<void> {
  const [http, https, { pipeline }] = await Promise.all([
    import('node:http'),
    import('node:https'),
    import('node:stream/promises'),
  ])
  const isSecure = apiUrl.startsWith('https:')
  // No proxy leads back to this machine. Node 20 knows no proxies.
  const isLocal = /^(127\.|localhost$|\[::1\]$)/.test(new URL(apiUrl).hostname)
  const options = {
    keepAlive: true,
    ...(isLocal ? {} : { proxyEnv: proxies }),
    ...(isSecure && certificates !== undefined && { ca: readFileSync(certificates) }),
  }
  const agent = isSecure ? new https.Agent(options) : new http.Agent(options)
  const send = isSecure ? https.request : http.request
  const deadline = performance.now() + OPEN_MS
  const server = http.createServer(relay)
  server.on('error', () => {
    if (performance.now() < deadline) setTimeout(listen, RETRY_DELAY_MS)
  })
  listen()

  function listen() {
    server.listen(port, '127.0.0.1')
  }

  function relay(request: IncomingMessage, response: ServerResponse) {
    const path = OF_JOB.exec(request.url ?? '')?.[0]
    if (path === undefined) {
      request.resume()
      return void response.writeHead(404).end()
    }
    const { host: _, connection: __, ...headers } = request.headers
    const url = apiUrl + (request.url ?? '').slice(path.length)
    const sent = send(url, { agent, method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      pipeline(answer, response).catch(() => response.destroy())
    })
    sent.on('error', () => (response.headersSent ? response.destroy() : response.writeHead(502).end()))
    pipeline(request, sent).catch(() => {})
  }
}
