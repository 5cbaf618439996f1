import { randomUUID } from 'node:crypto'
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { AppError } from '../errors.ts'
import { requestSeconds } from '../metrics.ts'
import { parseBodies, streamBodies } from './bodies.ts'
import { endWhenClosing } from './closing.ts'
import { describeRoutes } from './describe.ts'
import { answerFault, answerParserFault } from './faults.ts'
import { BASE_HEADERS } from './headers.ts'
import { createHttp, type Route, type Routes } from './http.ts'
import { indexLoaders, type Loader } from './loaders.ts'
import { createRateLimiter, rateLimit } from './rate-limit.ts'
import { beginRequest, logRequest } from './request-log.ts'
import { serveWeb } from './web.ts'

const MINUTE_MS = 60_000

/** What a proxy in front of us writes down for a client that left before it was answered. */
const CLIENT_LEFT = 499

export type Server = { fastify: FastifyInstance; routes: readonly Route[] }

/** What the server serves. */
export type Features = { routes: readonly Routes[]; loaders: readonly Loader[] }

/** An answer as it goes out; `route` is undefined where there is none at the path. */
export type SentAnswer = {
  route: Route | undefined
  method: string
  url: string
  status: number
  type: string | undefined
  /** Undefined where there is none; a stream is not read. */
  content: unknown
}

export type ServerOptions = {
  /** Speaks TLS with this chain and key, PEM texts. */
  https?: { cert: string; key: string } | undefined
  /** Where the build of the web application lies, when it is elsewhere than in the repository. */
  webDist?: string
  /** What comes in before it resolves is answered afterwards. */
  opened?: Promise<void>
  /** Is told of each answer; for tests, which check them. */
  onAnswer?: (answer: SentAnswer) => void
}

/** Builds the HTTP server with the routes of every feature; it does not listen yet. */
export async function createServer(
  app: App,
  features: Features,
  { https, webDist, opened, onAnswer }: ServerOptions = {},
) {
  const options = {
    logger: false,
    genReqId: () => randomUUID(),
    trustProxy: app.config.trustProxy ?? false,
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 1000 },
    forceCloseConnections: 'idle',
    // What comes in while the server closes is still answered: others have time to learn of it.
    return503OnClosing: false,
    keepAliveTimeout: 75_000,
    // A connection on which nothing moves in either direction; longer than any request waits for something to happen.
    connectionTimeout: 5 * MINUTE_MS,
    // A whole request with its body: half a gigabyte over a slow line takes its time, a drip does not get for ever.
    requestTimeout: 60 * MINUTE_MS,
    clientErrorHandler: answerParserFault,
    frameworkErrors: (error: Error, request: FastifyRequest, reply: FastifyReply) => {
      addHeaders(request, reply)
      void answerFault(app, error, request, reply)
    },
  } as const
  // The two kinds of server differ in their socket's type only, which nothing here reads.
  const server = https ? (fastify({ ...options, https }) as unknown as FastifyInstance) : fastify(options)

  endWhenClosing(server)
  server.addHook('onRequest', async (request, reply) => {
    await opened
    beginRequest(request)
    addHeaders(request, reply)
  })
  server.addHook('onRequestAbort', async (request) => {
    logRequest(app.log, request, { status: CLIENT_LEFT, bytes: undefined })
  })
  server.addHook('onResponse', async (request, reply) => {
    requestSeconds.observe({ method: request.method, status: reply.statusCode }, reply.elapsedTime / 1000)
    logRequest(app.log, request, { status: reply.statusCode, bytes: reply.getHeader('content-length') })
  })
  server.setErrorHandler(async (error, request, reply) => answerFault(app, error, request, reply))
  server.setNotFoundHandler(async (request) => {
    const path = request.url.split('?', 1)[0] ?? ''
    throw new AppError('not-found', [{ detail: `there is nothing at ${request.method} ${path.slice(0, 200)}` }])
  })

  const routes: Route[] = []
  if (onAnswer) {
    server.addHook('onSend', async (request, reply, content) => onAnswer(sentAnswer(routes, request, reply, content)))
  }
  const loaders = indexLoaders(features.loaders)
  const limit = rateLimit(app.config)
  const limiter = limit > 0 ? createRateLimiter(limit) : undefined
  await server.register(async (parsed) => {
    parseBodies(parsed)
    await server.register(async (streamed) => {
      streamBodies(streamed)
      for (const register of [...features.routes, describeRoutes(routes, () => app.baseUrl)]) {
        const scopes = { parsed, streamed }
        register(createHttp(app, { scopes, routes, loaders, limiter, feature: featureName(register) }))
      }
    })
  })
  await serveWeb(server, webDist)
  return { fastify: server, routes }
}

function addHeaders(request: FastifyRequest, reply: FastifyReply) {
  reply.headers(BASE_HEADERS).header('x-request-id', request.id)
}

function sentAnswer(
  routes: readonly Route[],
  request: FastifyRequest,
  reply: FastifyReply,
  content: unknown,
): SentAnswer {
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

/** `runTriggerRoutes` → `run trigger`; a bundler may have put a digit behind the name. */
function featureName(register: Routes) {
  const words = register.name.replace(/Routes\d*$/, '').replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
  return words === '' ? 'other' : words
}
