import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

export type ReceivedRequest = {
  /** Method and path, such as `GET /user`. */
  route: string
  query: Record<string, string>
  headers: IncomingMessage['headers']
  body: unknown
}

export type HostReply =
  | { status?: number; headers?: Record<string, string>; body?: unknown }
  /** Writes the response itself, or none. */
  | ((response: ServerResponse) => void)

export type HostRoutes = Record<string, (request: ReceivedRequest) => HostReply>

/** A server that plays a host: it answers 404 where there is no route. Strings are sent as they are, other bodies as JSON. */
export async function startFakeHost(routes: HostRoutes) {
  const requests: ReceivedRequest[] = []
  const server = createServer((incoming, response) => void answer(incoming, response))

  async function answer(incoming: IncomingMessage, response: ServerResponse) {
    const { pathname, searchParams } = new URL(incoming.url ?? '', 'http://host')
    const content = (await buffer(incoming)).toString()
    const request = {
      route: `${incoming.method} ${pathname}`,
      query: Object.fromEntries(searchParams),
      headers: incoming.headers,
      body: content === '' ? undefined : (JSON.parse(content) as unknown),
    }
    requests.push(request)
    const reply = routes[request.route]?.(request) ?? { status: 404, body: { message: 'Not Found' } }
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
  return {
    url,
    requests,
    connection: { httpUrl: url, apiUrl: url, token: 'the-token', username: null, fetch },
    /** Routes of the requests, in order. */
    asked: () => requests.map(({ route }) => route),
  }
}

/** A `Link` header to the page after `page`, of as many pages. */
export function linkToNext(url: string, page: number, pages: number): Record<string, string> {
  if (page >= pages) return {}
  return { link: `<${url}?page=${page + 1}&per_page=2>; rel="next", <${url}?page=${pages}&per_page=2>; rel="last"` }
}
