import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http'
import { pipeline } from 'node:stream/promises'
import { type Dispatcher, request as send } from 'undici'

/** Hop-by-hop headers. */
const OF_CONNECTION = new Set([
  'connection',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

/** The headers without those that belong to a connection. */
export function endToEnd<Value>(headers: Record<string, Value>): Record<string, Value> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name)))
}

/**
 * Sends a request on to `url` and its response back, both as they come; `body` is that of the request where it was read already. It is sent once: the engine tries again by itself, and knows
 * which requests it may repeat. A server that can't be reached is answered as 502.
 */
export async function proxyRequest(
  dispatcher: Dispatcher,
  url: string,
  { request, response }: { request: IncomingMessage; response: ServerResponse },
  body?: Uint8Array,
): Promise<void> {
  const gone = new AbortController()
  response.once('close', () => gone.abort())
  const hasBody = request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length']) > 0
  try {
    const answer = await send(url, {
      dispatcher,
      method: request.method ?? 'GET',
      headers: endToEnd(request.headers),
      body: body ?? (hasBody ? request : null),
      signal: gone.signal,
    })
    response.writeHead(answer.statusCode, endToEnd(answer.headers) as OutgoingHttpHeaders)
    await pipeline(answer.body, response)
  } catch (error) {
    if (response.headersSent || gone.signal.aborted) response.destroy()
    else answerUnreached(response, error)
  }
}

/** Answers that the server could not be reached, which the engine takes for a reason to try again. */
export function answerUnreached(response: ServerResponse, error: unknown) {
  const reason = error instanceof Error ? error.message : String(error)
  const detail = `the agent could not reach its server: ${reason}`
  answerError(response, { status: 502, title: 'bad gateway', detail })
}

export function answerError(
  response: ServerResponse,
  { status, title, detail }: { status: number; title: string; detail: string },
) {
  response
    .writeHead(status, { 'content-type': 'application/vnd.api+json' })
    .end(JSON.stringify({ errors: [{ status: String(status), title, detail }] }))
}
