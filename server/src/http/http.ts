import type { FastifyInstance, FastifyReply, FastifyRequest, HTTPMethods } from 'fastify'
import type { z } from 'zod'
import type { App, Ctx } from '../app.ts'
import { authenticate } from '../auth/authenticate.ts'
import { tooLarge, unauthorized } from '../errors.ts'
import type { Answer } from './answers.ts'
import { readIncludes } from './includes.ts'
import { type Page, readPage } from './pagination.ts'
import { parseBody } from './validation.ts'

/** The parameters in a path, `'/runs/:id'` → `{ id: string }`. */
export type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & Params<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : unknown

export type RouteOptions<Body extends z.ZodType = z.ZodType> = {
  /** The schema of the body; without one the body is not read. */
  body?: Body
  /** `public` routes take no token; all others answer 401 without a good one. */
  access?: 'token' | 'public'
  /** Whether the token of a task result opens it, which opens nothing else. The service checks that it is the right one. */
  forTask?: true
  /** What `include` may name. */
  include?: readonly string[]
  /** The largest body, in bytes. */
  maxBytes?: number
  /** The body is not parsed: the handler reads `req.raw.body`, a stream. */
  upload?: true
  /** Paths start at `/api/v2` unless this says otherwise. */
  prefix?: string
}

export type Request<Path extends string, Body> = {
  ctx: Ctx
  params: Params<Path>
  query: Record<string, unknown>
  body: Body
  includes: ReadonlySet<string>
  /** The request's path and query, for the links of a list. */
  url: string
  /** The page of a list, read when asked for. */
  page(): Page
  header(name: string): string | undefined
  raw: FastifyRequest
  reply: FastifyReply
}

type Handler<Path extends string, Body> = (req: Request<Path, Body>) => Promise<Answer | undefined>

/** What a feature registers its routes on. */
export type Http = {
  [Method in 'get' | 'post' | 'patch' | 'put' | 'delete']: {
    <Path extends string>(path: Path, handler: Handler<Path, undefined>): void
    <Path extends string, Body extends z.ZodType = z.ZodUndefined>(
      path: Path,
      options: RouteOptions<Body>,
      handler: Handler<Path, z.infer<Body>>,
    ): void
  }
}
export type Routes = (http: Http) => void

/** A registered route, for the OpenAPI document and for tests that walk all of them. */
export type Route = { method: HTTPMethods; url: string; options: RouteOptions }

export const API_PREFIX = '/api/v2'
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024

/** Binds `Http` to two scopes of a Fastify server: one that parses JSON bodies, one that leaves them as streams. */
export function createHttp(
  app: App,
  scopes: { parsed: FastifyInstance; streamed: FastifyInstance },
  routes: Route[],
): Http {
  function register(method: HTTPMethods, path: string, options: RouteOptions, handler: Handler<string, unknown>) {
    const url = `${options.prefix ?? API_PREFIX}${path}`
    routes.push({ method, url, options })
    const scope = options.upload ? scopes.streamed : scopes.parsed
    scope.route({
      method,
      url,
      bodyLimit: options.maxBytes ?? DEFAULT_MAX_BYTES,
      handler: async (raw, reply) => {
        const request = { id: raw.id, address: raw.ip, userAgent: raw.headers['user-agent'] }
        const actor = await authenticate(app, raw, options.access ?? 'token')
        if (actor.kind === 'task' && !options.forTask) {
          throw unauthorized('the access token of a run task opens its callback, its plan and its configuration only')
        }
        if (options.upload) checkLength(raw, options.maxBytes)
        const query = raw.query as Record<string, unknown>
        const answer = await handler({
          ctx: { ...app, actor, request },
          params: raw.params,
          query,
          body: options.body && parseBody(options.body, raw.body),
          includes: readIncludes(query, options.include ?? []),
          url: raw.url,
          page: () => readPage(query),
          header: (name) => [raw.headers[name.toLowerCase()]].flat()[0],
          raw,
          reply,
        })
        return answer ? writeAnswer(reply, answer) : reply
      },
    })
  }

  const method = (name: HTTPMethods) => (path: string, first: unknown, second?: unknown) => {
    const [options, handler] = second === undefined ? [{}, first] : [first, second]
    register(name, path, options as RouteOptions, handler as Handler<string, unknown>)
  }
  return {
    get: method('GET'),
    post: method('POST'),
    patch: method('PATCH'),
    put: method('PUT'),
    delete: method('DELETE'),
  }
}

function checkLength(raw: FastifyRequest, maxBytes: number | undefined) {
  const length = Number(raw.headers['content-length'] ?? 0)
  if (maxBytes !== undefined && length > maxBytes)
    throw tooLarge(`the upload has ${length} bytes, at most ${maxBytes} are taken`)
}

function writeAnswer(reply: FastifyReply, answer: Answer) {
  reply.code(answer.status)
  if (answer.headers) reply.headers(answer.headers)
  if (answer.document !== undefined) {
    return reply.type('application/vnd.api+json').send(JSON.stringify(answer.document))
  }
  if (answer.content) {
    if (answer.content.size !== undefined) reply.header('content-length', answer.content.size)
    return reply.type(answer.content.type).send(answer.content.data)
  }
  return reply.send()
}
