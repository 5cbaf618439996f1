import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { ErrorsDocument } from '@groundstate/contract/responses'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { BlobStoreUnavailableError } from '../blobs/errors.ts'
import { isInvalidValue, isUnavailable } from '../db/db.ts'
import { codeOf } from '../error-code.ts'
import {
  AppError,
  badRequest,
  invalid,
  notFound,
  preconditionFailed,
  tooLarge,
  unauthorized,
  unavailable,
} from '../errors.ts'
import { loggedError } from '../log.ts'
import { findFullDisk } from '../postgres/directories.ts'
import { basePath } from './base-path.ts'
import { errorDocument, errorStatus, opaqueErrorDocument } from './errors.ts'
import { html, htmlPage } from './html-page.ts'
import { loggedPath } from './request-log.ts'
import { BASE_HEADERS, JSON_API_TYPE, writeResponse } from './write.ts'

export async function responseFault(app: App, error: unknown, request: FastifyRequest, reply: FastifyReply) {
  const fullDisk = isOutage(error instanceof AppError ? error.cause : error)
    ? await findFullDisk(app.config)
    : undefined
  const known = error instanceof AppError ? error : translate(error, request, fullDisk)
  if (known?.kind === 'unavailable')
    log('warn', fullDisk === undefined ? 'unavailable' : `the disk of ${fullDisk} is full`)
  else if (known && isInvalidValue(error)) log('warn', 'the database rejected a value')
  if (!known) {
    log('error', 'bug')
    return send(500, opaqueErrorDocument(request.id))
  }
  if (known.retryAfterMs !== undefined) {
    const seconds = Math.max(0.001, known.retryAfterMs / 1000)
    // X-RateLimit-Reset must be a number: a client that cannot parse it exits.
    reply.header('retry-after', Math.ceil(seconds)).header('x-ratelimit-reset', seconds.toFixed(3))
  }
  if (known.kind === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="groundstate"')
  return send(errorStatus(known), errorDocument(known))

  function send(status: number, document: ErrorsDocument) {
    if (acceptsPage(request)) {
      return writeResponse(app, request, reply, errorPage(status, document, `${basePath(app.config.baseUrl)}/app`))
    }
    return reply
      .code(status)
      .header('content-type', JSON_API_TYPE)
      .send(Buffer.from(JSON.stringify(document)))
  }

  function log(level: 'warn' | 'error', message: string) {
    const err = loggedError(error instanceof AppError && error.cause !== undefined ? error.cause : error)
    app.log[level]({ err, request: request.id, method: request.method, path: loggedPath(request) }, message)
  }
}

/** Error codes of the system for a full disk, quota or file. */
const DISK_FULL = new Set(['ENOSPC', 'EDQUOT', 'EFBIG'])
const DATABASE_DISK_FULL = '53100'

function isOutage(error: unknown) {
  return isUnavailable(error) || codeOf(error) === DATABASE_DISK_FULL
}

/** Translates errors of the HTTP library that the client caused, and errors of the database that are not bugs. */
function translate(error: unknown, request: FastifyRequest, fullDisk: string | undefined): AppError | undefined {
  // First, since the connection error of a client that disconnects resembles one of the database. The response is not read.
  if (request.raw.destroyed && !request.raw.complete) return badRequest('the connection closed before the body ended')
  if (isInvalidValue(error)) return invalid('a value is out of the range that can be stored')
  if (codeOf(error) === DATABASE_DISK_FULL)
    return unavailable('the disk of the database is full, so nothing was stored', 10_000)
  if (isUnavailable(error)) {
    const reason = fullDisk === undefined ? 'the database is unavailable' : 'the disk of the database is full'
    return unavailable(`${reason}, try again later`, 1000)
  }
  if (error instanceof BlobStoreUnavailableError)
    return unavailable('the object store is unavailable, try again later', 1000)
  if (DISK_FULL.has(codeOf(error) ?? ''))
    return unavailable('the disk of the server is full, so nothing was stored', 10_000)
  return error instanceof Error ? translateLibraryError(error, request) : undefined
}

function translateLibraryError(error: Error, request: FastifyRequest): AppError | undefined {
  const status = 'statusCode' in error ? error.statusCode : undefined
  const code = codeOf(error) ?? ''
  // Errors of the file server have no code, but `expose`.
  const isOfLibrary = code.startsWith('FST_ERR_') || ('expose' in error && error.expose === true)
  if (!isOfLibrary || typeof status !== 'number' || status < 400 || status >= 500) return undefined
  if (code === 'FST_ERR_BAD_URL') return badRequest('the path is not valid percent-encoded UTF-8')
  if (code === 'FST_ERR_MAX_PARAM_LENGTH' || status === 404) return notFound('resource')
  if (status === 401) return unauthorized()
  if (status === 413)
    return tooLarge(`the body is larger than the ${request.routeOptions.bodyLimit} bytes that this endpoint takes`)
  if (status === 412)
    return preconditionFailed('the file does not meet the preconditions in the headers of the request')
  if (status === 416)
    return new AppError('range-not-satisfiable', [{ detail: 'the file has no bytes in the range of the header Range' }])
  const detail = `${error.message.charAt(0).toLowerCase()}${error.message.slice(1)}`
  return status === 415 ? new AppError('unsupported-media-type', [{ detail }]) : badRequest(detail)
}

const PARSER_FAULTS: Record<string, [status: number, detail: string]> = {
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'the request took too long to arrive'],
  HPE_HEADER_OVERFLOW: [431, 'the path and headers are larger than 16 KiB'],
}

/** Responds on the raw socket to input that is not an HTTP request, or to a request that does not end. */
export function writeParserError(error: Error & { code?: string }, socket: Socket) {
  if (error.code === 'ECONNRESET' || socket.destroyed) return
  const [status, detail] = PARSER_FAULTS[error.code ?? ''] ?? [400, 'the request is not valid HTTP']
  const title = STATUS_CODES[status] ?? ''
  const document: ErrorsDocument = { errors: [{ status: String(status), title: title.toLowerCase(), detail }] }
  const body = JSON.stringify(document)
  const headers = {
    ...BASE_HEADERS,
    'content-type': JSON_API_TYPE,
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  if (socket.writable) socket.write(`HTTP/1.1 ${status} ${title}\r\n${lines.join('')}\r\n${body}`)
  socket.destroy()
}

/** Paths that programs request, regardless of the Accept header. */
const FOR_PROGRAMS = /^\/(?:_\w+|agent|api|assets|avatars|\.well-known|healthz|metrics|oauth\/token|readyz)(?:\/|$)/
const FILE = /\.\w{1,11}$/

/** Whether the response is shown in a browser: only browsers accept HTML explicitly when they open a URL. */
function acceptsPage({ url, headers }: FastifyRequest) {
  const [path = ''] = url.split('?', 1)
  return /\btext\/html\b/.test(headers.accept ?? '') && !FOR_PROGRAMS.test(path) && !FILE.test(path)
}

const TITLES: Record<number, string> = {
  403: 'Not allowed',
  404: 'Page not found',
  429: 'Too many attempts',
  500: 'Something went wrong',
  503: 'Service unavailable',
}

/** An error as a page with a link to `home`, the path of the application. */
function errorPage(status: number, { errors }: ErrorsDocument, home: string) {
  const title = TITLES[status] ?? 'Request failed'
  const parts = [
    html`<h1>${title}</h1>`,
    ...errors.map(({ detail }) => html`<p class="dim">${detail.charAt(0).toUpperCase()}${detail.slice(1)}.</p>`),
    html`<p class="row"><a class="button main" href="${home}">Open Groundstate</a></p>`,
  ]
  return htmlPage({ title, parts }, { status, headers: { 'cache-control': 'no-store' } })
}
