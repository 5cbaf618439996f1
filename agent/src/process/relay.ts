import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'

/** Target of the requests that engines send after their agent has died. */
export type RelayTarget = {
  /** That of the agent's gateway. */
  port: number
  /** Base of the server's public API. */
  apiUrl: string
  /** A PEM file of the authorities to trust. */
  certificates: string | undefined
  /** The agent's own variables that name proxies. */
  proxies?: Record<string, string>
}

const PROXIES = ['HTTP_PROXY', 'HTTPS_PROXY', 'NO_PROXY', 'http_proxy', 'https_proxy', 'no_proxy']

/** Those of the variables that name proxies. */
export function proxiesOf(env: NodeJS.ProcessEnv): Record<string, string> {
  return Object.fromEntries(PROXIES.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
}

/** The first part of a path names the job at the gateway; behind it is the public API. */
const OF_JOB = /^\/[^/]+\/api\/v2\//
/** For so long (ms) the port may still be that of the agent. */
const OPEN_MS = 1_000
const RETRY_DELAY_MS = 50

/**
 * Takes the place of a gateway whose agent is dead, and passes on what engines ask of the public API, so that they can store their
 * state. A version that was announced to the gateway is not known here: the engine keeps that state in a file. Rejects when the
 * authorities can't be read.
 *
 * The launcher has this module from its start, since an upgrade may have replaced its files by then, and stays small all the same:
 * what is large is of Node itself, and loaded now.
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
