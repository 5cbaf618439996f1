import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { type Log, loggedError } from '../log.ts'
import { digestOf, serialise } from './raw-json.ts'
import type { ApiResponse } from './responses.ts'

/** Writes the response of a handler. Documents and texts get an ETag on GET; streams are piped. */
export function writeResponse(
  { log }: { log: Log },
  request: FastifyRequest,
  reply: FastifyReply,
  response: ApiResponse,
) {
  reply.code(response.status)
  if (response.headers) reply.headers(response.headers)
  if (response.document !== undefined) {
    return writeContent(request, reply, { type: JSON_API_TYPE, ...serialise(response.document) })
  }
  if (!response.content) return reply.send()

  const { type, data, size } = response.content
  // As bytes, since Fastify would add a charset to the content type of a string, which JSON:API forbids.
  if (typeof data === 'string') {
    const content = Buffer.from(data)
    return writeContent(request, reply, { type, content, digest: () => digestOf(content) })
  }
  reply.header('content-type', type)
  if (size !== undefined) reply.header('content-length', size)
  if (!(data instanceof Readable)) return reply.send(data)
  if (request.method === 'HEAD') {
    data.destroy()
    return reply.send(Readable.from([]))
  }
  data.once('error', (error) => {
    // Before the first byte an error response is sent; afterwards the connection can only be closed.
    if (reply.raw.headersSent) log.error({ err: loggedError(error), request: request.id }, 'a response was interrupted')
  })
  return reply.send(data)
}

function writeContent(
  request: FastifyRequest,
  reply: FastifyReply,
  { type, content, digest }: { type: string; content: Buffer; digest: () => string },
) {
  const isRead = reply.statusCode === 200 && (request.method === 'GET' || request.method === 'HEAD')
  if (isRead && reply.getHeader('cache-control') !== 'no-store') {
    const tag = entityTag(digest())
    reply.header('etag', tag)
    // Browsers would otherwise choose a lifetime for the response.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-cache')
    if (isMatched(request.headers['if-none-match'], tag)) return reply.code(304).send()
  }
  return reply.header('content-type', type).send(content)
}

/** The ETag of a document with this digest: weak, since a proxy may compress the bytes. */
export function entityTag(digest: string) {
  return `W/"${digest}"`
}

/** Whether the If-None-Match header of a request names this tag, by weak comparison (RFC 9110 §13.1.2). */
export function isMatched(header: string | undefined, tag: string) {
  if (header === undefined) return false
  const tags = header.split(',').map((text) => text.trim())
  return tags.some((name) => name === '*' || name.replace(/^W\//, '') === tag.replace(/^W\//, ''))
}

/**
 * The headers of every response. Clients of the public API read the first four. The CLI rejects a `cloud` block below API version 2.5, and decides
 * about structured output by the number after the `v` of X-TFE-Version.
 */
export const BASE_HEADERS = {
  'tfp-api-version': '2.6',
  'tfp-appname': 'Groundstate',
  'x-tfe-version': 'v202611-1',
  'x-tfe-current-version': 'v202611-1',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
} as const

/** Additional headers of HTML pages: no frames, no shared window, no devices. */
export const PAGE_HEADERS = {
  'x-frame-options': 'DENY',
  'cross-origin-opener-policy': 'same-origin',
  'permissions-policy': 'camera=(), geolocation=(), microphone=(), payment=(), usb=()',
} as const

export const JSON_API_TYPE = 'application/vnd.api+json'
