import { createHmac } from 'node:crypto'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'
import type { HostConnection, WebhookRequest } from '../host.ts'

export type ReceivedRequest = {
  /** Method and path, such as `GET /user`. */
  route: string
  query: Record<string, string>
  headers: IncomingHttpHeaders
  /** Parsed; undefined if it is not JSON. */
  body: unknown
  text: string
}

export type HostReply =
  | { status?: number; headers?: Record<string, string>; body?: unknown }
  /** Writes the response itself, or none. */
  | ((response: ServerResponse) => void)

export type HostRoutes = Record<string, (request: ReceivedRequest) => HostReply>

/** A server that plays a host: it answers 404 where there is no route. Strings are sent as they are, other bodies as JSON. */
export async function startFakeHost(routes: HostRoutes = {}) {
  const replies = new Map(Object.entries(routes))
  const requests: ReceivedRequest[] = []
  const server = createServer((incoming, response) => void answer(incoming, response))

  async function answer(incoming: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://host')
    const text = (await buffer(incoming)).toString()
    const isJson = incoming.headers['content-type']?.startsWith('application/json')
    const request = {
      route: `${incoming.method} ${pathname}`,
      query: Object.fromEntries(searchParams),
      headers: incoming.headers,
      body: isJson ? (JSON.parse(text) as unknown) : undefined,
      text,
    }
    requests.push(request)
    const reply = replies.get(request.route)?.(request) ?? { status: 404, body: { message: 'Not Found' } }
    if (typeof reply === 'function') return reply(response)
    const { status = 200, headers = {}, body } = reply
    response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers })
    response.end(body === undefined || typeof body === 'string' ? body : JSON.stringify(body))
  }

  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const connection: HostConnection = { httpUrl: url, apiUrl: url, token: 'the-token', username: null, fetch }
  return {
    url,
    requests,
    connection,
    /** Adds a route, or replaces it. */
    reply(route: string, reply: Exclude<HostReply, (response: ServerResponse) => void> | HostRoutes[string]) {
      replies.set(route, typeof reply === 'function' ? reply : () => reply)
    },
    /** Routes of the requests, in order. */
    asked: () => requests.map(({ route }) => route),
    /** Bodies of the requests of a route. */
    bodies: (route: string) => requests.filter((request) => request.route === route).map(({ body }) => body),
  }
}

/** A `Link` header to the page after `page`, of as many pages. */
export function linkToNext(url: string, page: number, pages: number): Record<string, string> {
  if (page >= pages) return {}
  return { link: `<${url}?page=${page + 1}&per_page=2>; rel="next", <${url}?page=${pages}&per_page=2>; rel="last"` }
}

/** Ten pages of comments with the texts `comment <page>.<index>.` and the ids 1000 · page + index; `size` names the query's page size. */
export function commentPages(path: string, size: string): HostRoutes {
  return {
    [`GET ${path}`]: ({ query }) => {
      const page = Number(query['page'])
      const body = Array.from({ length: Number(query[size]) }, (_, index) => ({
        id: page * 1000 + index,
        body: `comment ${page}.${index}.`,
      }))
      return { body, headers: linkToNext(path, page, 10) }
    },
  }
}

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
