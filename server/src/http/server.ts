import type { IncomingMessage } from 'node:http'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { AppError } from '../errors.ts'
import { requestSeconds, requestsInFlight } from '../metrics.ts'
import { basePath, withoutBasePath } from './base-path.ts'
import { parseBodies, streamBodies } from './bodies.ts'
import { endWhenClosing } from './closing.ts'
import { compressResponses } from './compression.ts'
import { writeParserError, responseFault } from './faults.ts'
import { type Route, type Routes, createHttp } from './http.ts'
import { type Loader, indexLoaders } from './loaders.ts'
import { documentRoutes } from './openapi.ts'
import { createRateLimiter, rateLimit } from './rate-limit.ts'
import { CLIENT_LEFT, beginRequest, inRequest, logRequest, requestId } from './request-log.ts'
import { serveWeb } from './web.ts'
import { BASE_HEADERS } from './write.ts'

const MINUTE_MS = 60_000

export type Server = { fastify: FastifyInstance; routes: readonly Route[] }

export type Features = { routes: readonly Routes[]; loaders: readonly Loader[] }

/** A response as it is sent; `route` is undefined if no route matched. */
export type SentResponse = {
  route: Route | undefined
  method: string
  url: string
  status: number
  type: string | undefined
  /** Undefined for none and for a stream. */
  content: unknown
}

export type ServerOptions = {
  /** Certificate chain and key for TLS, in PEM. */
  https?: { cert: string; key: string } | undefined
  /** Directory of the built web application, by default the one in the repository. */
  webDist?: string
  /** Requests wait for this promise before they are handled. */
  opened?: Promise<void>
  onResponse?: (response: SentResponse) => void
}

/** Builds the HTTP server with the routes of every feature. It does not listen yet. */
export async function createServer(
  app: App,
  features: Features,
  { https, webDist, opened, onResponse }: ServerOptions = {},
) {
  const base = basePath(app.config.baseUrl)
  const options = {
    logger: false,
    genReqId: requestId,
    rewriteUrl: (request: IncomingMessage) => withoutBasePath(base, request),
    trustProxy: app.config.trustProxy ?? false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1000 },
    forceCloseConnections: 'idle',
    // Requests are still handled while the server closes, since load balancers need time to notice.
    return503OnClosing: false,
    keepAliveTimeout: 75_000,
    // For connections without traffic in either direction; longer than any long poll.
    connectionTimeout: 5 * MINUTE_MS,
    // For a whole request with its body: enough for half a gigabyte over a slow connection.
    requestTimeout: 60 * MINUTE_MS,
    clientErrorHandler: writeParserError,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      addHeaders(request, reply)
      void responseFault(app, error, request, reply)
    },
  } as const
  // The two kinds of server differ only in the type of their sockets.
  const server = https ? (fastify({ ...options, https }) as unknown as FastifyInstance) : fastify(options)

  endWhenClosing(server)
  server.addHook('onRequest', async (request, reply) => {
    await opened
    beginRequest(request)
    if (!request.routeOptions.config.endless) {
      requestsInFlight.inc()
      // Also without a response, when the client disconnects.
      reply.raw.once('close', () => requestsInFlight.dec())
    }
    addHeaders(request, reply)
  })
  server.addHook('onRequestAbort', async (request) => logRequest(app.log, request, { status: CLIENT_LEFT }))
  server.addHook('onResponse', async (request, reply) => {
    measureResponse(request, reply)
    logRequest(app.log, request, { status: reply.statusCode, bytes: reply.getHeader('content-length') })
  })
  server.setErrorHandler(async (error, request, reply) =>
    inRequest(request, async () => responseFault(app, error, request, reply)),
  )
  server.setNotFoundHandler(async (request) => {
    const path = request.url.split('?', 1)[0] ?? ''
    throw new AppError('not-found', [{ detail: `there is nothing at ${request.method} ${path.slice(0, 200)}` }])
  })

  const routes: Route[] = []
  if (onResponse) {
    server.addHook('onSend', async (request, reply, content) =>
      onResponse(sentResponse(routes, request, reply, content)),
    )
  }
  compressResponses(server)
  const loaders = indexLoaders(features.loaders)
  const limit = rateLimit(app.config)
  const limiter = limit > 0 ? createRateLimiter(limit) : undefined
  await server.register(async (parsed) => {
    parseBodies(parsed)
    await server.register(async (streamed) => {
      streamBodies(streamed)
      for (const register of [...features.routes, documentRoutes(routes, () => app.baseUrl)]) {
        const scopes = { parsed, streamed }
        register(createHttp(app, { scopes, routes, loaders, limiter, feature: featureName(register) }))
      }
    })
  })
  await serveWeb(server, { dist: webDist, basePath: base })
  return { fastify: server, routes }
}

function measureResponse({ method, routeOptions }: FastifyRequest, reply: FastifyReply) {
  if (routeOptions.config.endless) return
  const status = `${Math.floor(reply.statusCode / 100)}xx`
  requestSeconds.observe({ method, route: routeOptions.url ?? 'none', status }, reply.elapsedTime / 1000)
}

function addHeaders(request: FastifyRequest, reply: FastifyReply) {
  reply.headers(BASE_HEADERS).header('x-request-id', request.id)
}

function sentResponse(routes: readonly Route[], request: FastifyRequest, reply: FastifyReply, content: unknown) {
  const method = request.method === 'HEAD' ? 'GET' : request.method
  return {
    route: routes.find((route) => route.method === method && route.url === request.routeOptions.url),
    method: request.method,
    url: request.url,
    status: reply.statusCode,
    type: [reply.getHeader('content-type')].flat()[0]?.toString(),
    content: content ?? undefined,
  }
}

/** `runTriggerRoutes` → `run trigger`; a bundler may have appended a digit to the name. */
function featureName(register: Routes) {
  const words = register.name.replace(/Routes\d*$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words === '' ? 'other' : words
}
