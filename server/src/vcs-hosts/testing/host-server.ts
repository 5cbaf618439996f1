import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { whenFileEnds } from '../../testing/cleanup.ts'
import type { HostConnection, WebhookRequest } from '../host.ts'

export type HostRequest = {
  method: string
  path: string
  query: URLSearchParams
  headers: IncomingHttpHeaders
  /** Parsed; undefined if empty. */
  body: unknown
  text: string
}
type Reply = {
  status?: number
  headers?: Record<string, string>
  body?: unknown
  /** In place of `body`, not necessarily JSON. */
  text?: string
}

/** A local HTTP server that plays the API of a host. It returns 404 for paths without a reply. */
export type HostServer = {
  url: string
  requests: HostRequest[]
  /** Replaces the reply to `GET /path`, without the query. */
  reply: (route: string, reply: Reply | ((request: HostRequest) => Reply)) => void
  /** Bodies of the requests with this method and path. */
  bodies: (route: string) => unknown[]
}

export async function startHostServer(): Promise<HostServer> {
  const replies = new Map<string, Reply | ((request: HostRequest) => Reply)>()
  const host: HostServer = {
    url: '',
    requests: [],
    reply: (route, reply) => void replies.set(route, reply),
    bodies: (route) =>
      host.requests.filter(({ method, path }) => `${method} ${path}` === route).map(({ body }) => body),
  }
  const server = createServer((incoming, response) => {
    const chunks: Buffer[] = []
    incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
    incoming.on('end', () => {
      const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://host')
      const text = Buffer.concat(chunks).toString()
      const request: HostRequest = {
        method: incoming.method ?? '',
        path: pathname,
        query: searchParams,
        headers: incoming.headers,
        body: text === '' ? undefined : (JSON.parse(text) as unknown),
        text,
      }
      host.requests.push(request)
      const found = replies.get(`${request.method} ${pathname}`)
      const reply =
        typeof found === 'function' ? found(request) : (found ?? { status: 404, body: { message: 'Not Found' } })
      const body = reply.text ?? (reply.body === undefined ? '' : JSON.stringify(reply.body))
      response.writeHead(reply.status ?? 200, { 'content-type': 'application/json', ...reply.headers })
      response.end(body)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  whenFileEnds(() => server.close())
  host.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return host
}

export const connectionTo = (host: HostServer, given: Partial<HostConnection> = {}): HostConnection => ({
  httpUrl: host.url,
  apiUrl: host.url,
  token: 'token-of-the-connection',
  username: null,
  fetch,
  ...given,
})

/** A webhook as the server receives it. Node has header names in lower case. */
export const webhook = (body: unknown, headers: IncomingHttpHeaders = {}): WebhookRequest => ({
  headers,
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})

/** With the HMAC of the body, as most hosts sign. */
export function signedWebhook(body: unknown, secret: string, header: string, headers: IncomingHttpHeaders = {}) {
  const request = webhook(body, headers)
  const digest = createHmac('sha256', secret).update(request.body).digest('hex')
  return { ...request, headers: { ...headers, [header]: `sha256=${digest}` } }
}
