import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Answer } from './answers.ts'
import { entityTag, isMatched } from './etag.ts'
import { JSON_API_TYPE } from './headers.ts'
import { digestOf, serialise } from './raw-json.ts'
import { loggedError } from './request-log.ts'
import type { Log } from '../log.ts'

/** Sends what a handler returned. Documents and texts carry an ETag when they are read; streams are passed on. */
export function writeAnswer({ log }: { log: Log }, request: FastifyRequest, reply: FastifyReply, answer: Answer) {
  reply.code(answer.status)
  if (answer.headers) reply.headers(answer.headers)
  if (answer.document !== undefined) {
    return writeContent(request, reply, { type: JSON_API_TYPE, ...serialise(answer.document) })
  }
  if (!answer.content) return reply.send()

  const { type, data, size } = answer.content
  // As bytes: to the type of a text Fastify adds a charset, which that of JSON:API must not have.
  if (typeof data === 'string') {
    const content = Buffer.from(data)
    return writeContent(request, reply, { type, content, digest: () => digestOf(content) })
  }
  reply.header('content-type', type)
  if (size !== undefined) reply.header('content-length', size)
  if (!(data instanceof Readable)) return reply.send(data)
  if (request.method === 'HEAD') {
    // Nobody wants the content: it must not be read to its end only to be thrown away.
    data.destroy()
    return reply.send(Readable.from([]))
  }
  data.once('error', (error) => {
    // Before the first byte the error is answered as any other; after it, all that is left is to cut the connection.
    if (reply.raw.headersSent) log.error({ err: loggedError(error), request: request.id }, 'an answer broke off')
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
    // Without it, browsers guess for how long an answer stays good.
    if (!reply.hasHeader('cache-control')) reply.header('cache-control', 'private, no-cache')
    if (isMatched(request.headers['if-none-match'], tag)) return reply.code(304).send()
  }
  return reply.header('content-type', type).send(content)
}
