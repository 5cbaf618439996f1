import { randomUUID } from 'node:crypto'
import fastify, { type FastifyError, type FastifyInstance } from 'fastify'
import type { App } from '../app.ts'
import { AppError, badRequest, notFound, tooLarge, unauthorized } from '../errors.ts'
import { requestSeconds } from '../metrics.ts'
import { errorDocument, errorStatus, opaqueErrorDocument } from './errors.ts'
import { createHttp, type Route, type Routes } from './http.ts'
import { serveWeb } from './web.ts'

/**
 * Headers that clients of the public API read off any response: the command line refuses a `cloud` block below API
 * version 2.5, and takes the digits after the `v` of X-TFE-Version for the release that decides about structured output.
 */
const PRODUCT_HEADERS = {
  'tfp-api-version': '2.6',
  'tfp-appname': 'Groundstate',
  'x-tfe-version': 'v202611-1',
  'x-tfe-current-version': 'v202611-1',
}

const SECURITY_HEADERS = { 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' }

/** Object URLs carry their signature in the path: it must not end up in the log. */
const SECRET_PATH = /^(\/(?:_objects|api\/agent\/v1\/objects)\/)[^?]+/

export type Server = { fastify: FastifyInstance; routes: readonly Route[] }

/** Builds the HTTP server with the routes of every feature; it does not listen yet. */
export async function createServer(app: App, features: readonly Routes[], https?: { cert: string; key: string }) {
  const options = {
    logger: false,
    genReqId: () => randomUUID(),
    trustProxy: false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1000 },
    forceCloseConnections: 'idle',
    keepAliveTimeout: 75_000,
    requestTimeout: 0,
  } as const
  // The two kinds of server differ in their socket's type only, which nothing here reads.
  const server = https ? (fastify({ ...options, https }) as unknown as FastifyInstance) : fastify(options)

  server.addHook('onRequest', async (request, reply) => {
    reply.headers(PRODUCT_HEADERS).headers(SECURITY_HEADERS).header('x-request-id', request.id)
  })
  server.addHook('onResponse', async (request, reply) => {
    requestSeconds.observe({ method: request.method, status: reply.statusCode }, reply.elapsedTime / 1000)
    app.log.info(
      {
        request: request.id,
        method: request.method,
        path: request.url.replace(SECRET_PATH, '$1…').split('?', 1)[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime * 10) / 10,
      },
      'request',
    )
  })
  server.setErrorHandler<FastifyError>(async (error, request, reply) => {
    const known = error instanceof AppError ? error : translate(error)
    if (!known) {
      app.log.error(
        { err: error, request: request.id, method: request.method, path: request.url.replace(SECRET_PATH, '$1…') },
        'bug',
      )
      return reply
        .code(500)
        .type('application/vnd.api+json')
        .send(JSON.stringify(opaqueErrorDocument(request.id)))
    }
    if (known.retryAfterMs !== undefined) {
      const seconds = Math.max(0.001, known.retryAfterMs / 1000)
      // X-RateLimit-Reset must be a number: a client that can't parse it ends its process.
      reply.header('retry-after', Math.ceil(seconds)).header('x-ratelimit-reset', seconds.toFixed(3))
    }
    if (known.kind === 'unauthorized') reply.header('www-authenticate', 'Bearer realm="groundstate"')
    return reply
      .code(errorStatus(known))
      .type('application/vnd.api+json')
      .send(JSON.stringify(errorDocument(known)))
  })
  server.setNotFoundHandler(async (request) => {
    throw new AppError('not-found', [
      { detail: `there is nothing at ${request.method} ${request.url.split('?', 1)[0]}` },
    ])
  })

  const routes: Route[] = []
  await server.register(async (parsed) => {
    parsed.removeAllContentTypeParsers()
    parsed.addContentTypeParser(
      'application/x-www-form-urlencoded',
      { parseAs: 'string' },
      async (_: unknown, text: string) => Object.fromEntries(new URLSearchParams(text)),
    )
    // Clients send JSON under several types, and a type without a body; what is no JSON at all is refused as such.
    parsed.addContentTypeParser('*', { parseAs: 'buffer' }, async (_: unknown, body: Buffer) => parseJson(body))
    await server.register(async (streamed) => {
      streamed.removeAllContentTypeParsers()
      streamed.addContentTypeParser('*', async (_: unknown, payload: unknown) => payload)
      const http = createHttp(app, { parsed, streamed }, routes)
      for (const register of features) register(http)
    })
  })
  await serveWeb(server)
  return { fastify: server, routes }
}

function parseJson(body: Buffer): unknown {
  if (body.length === 0) return undefined
  try {
    return JSON.parse(body.toString('utf8'))
  } catch (error) {
    throw badRequest(`the body is not valid JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** Errors of the HTTP library that are the caller's. */
function translate(error: FastifyError): AppError | undefined {
  if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') return tooLarge('the body is larger than this endpoint takes')
  if (error.statusCode === 401) return unauthorized()
  if (error.statusCode === 404) return notFound('resource')
  if (error.statusCode !== undefined && error.statusCode >= 400 && error.statusCode < 500)
    return badRequest(error.message)
  return undefined
}
