import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { request as send } from 'undici'
import { messageOf } from '../process/errors.ts'
import type { Connection } from '../server/connection.ts'

export type Exchange = { request: IncomingMessage; response: ServerResponse }

export type EngineResponse = { status: number; headers: Record<string, string>; body: Uint8Array }

const HOP_BY_HOP = new Set(
  `connection expect host keep-alive proxy-authenticate proxy-authorization proxy-connection te trailer transfer-encoding
  upgrade`.split(/\s+/),
)

export function endToEnd<Value>(headers: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)))
}

/** Proxies a request, whose body may have been read. Never retries, since the engine knows which requests it may repeat. */
export async function proxyRequest(
  { dispatcher }: Connection,
  url: string,
  { request, response }: Exchange,
  body?: Uint8Array,
) {
  const closed = new AbortController()
  response.once('close', () => closed.abort())
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0
  try {
    const upstream = await send(url, {
      dispatcher,
      method: request.method ?? 'GET',
      headers: endToEnd(request.headers),
      body: body ?? (hasBody ? request : null),
      signal: closed.signal,
    })
    response.writeHead(upstream.statusCode, endToEnd(upstream.headers) as OutgoingHttpHeaders)
    await pipeline(upstream.body, response)
  } catch (error) {
    if (response.headersSent || closed.signal.aborted) response.destroy()
    else sendBadGateway(response, error)
  }
}

/** Sends a 502, which the engine retries. */
export function sendBadGateway(response: ServerResponse, error: unknown) {
  sendError(response, 502, 'bad gateway', `the agent could not reach its server: ${messageOf(error)}`)
}

export function sendError(response: ServerResponse, status: number, title: string, detail: string) {
  response
    .writeHead(status, { 'content-type': 'application/vnd.api+json' })
    .end(JSON.stringify({ errors: [{ status: String(status), title, detail }] }))
}

export function sendResponse(response: ServerResponse, { status, headers, body }: EngineResponse) {
  response.writeHead(status, headers).end(body)
}
