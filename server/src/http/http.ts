import { Readable } from 'node:stream'
import type { IncludeTable } from '@groundstate/contract/includes'
import type { Resource } from '@groundstate/contract/json-api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { App, Ctx } from '../app.ts'
import type { Page, Paged } from '../db/db.ts'
import { tooLarge } from '../errors.ts'
import { createAdmission } from './admission.ts'
import { responseWithBasePath, basePath } from './base-path.ts'
import { type Contents, takeContents } from './base64-fields.ts'
import { type Loaders, addIncluded, readIncludes } from './loaders.ts'
import { type PageSizes, namesPage, readPage } from './pagination.ts'
import { type Query, type QueryShape, queryParser } from './query.ts'
import type { RateLimiter } from './rate-limit.ts'
import { getActor } from './request-log.ts'
import { type ApiResponse, type ResponseSchema, listPage } from './responses.ts'
import type { RouteAccess, RouteAudit } from './route-access.ts'
import { parseBody } from './validation.ts'
import { writeResponse } from './write.ts'

/** The parameters in a path, `'/runs/:id'` → `{ id: string }`. */
export type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & Params<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : unknown

export type RouteOptions<
  Body extends z.ZodType = z.ZodType,
  Subject = unknown,
  Path extends string = string,
  Shape extends QueryShape = QueryShape,
> = {
  /** Summary for the API documentation, such as `Lock a workspace`: imperative, no full stop. */
  summary: string
  /**
   * The callers that may use the route: `{ workspace: 'lock' }` or `'public'`. Admission, the API's documentation and the
   * test of every route with every actor (`auth/routes-matrix.test.ts`) read it. The permission itself is checked by the
   * guard, in `authorise` or in the verb.
   */
  access: RouteAccess
  /**
   * The events that the route records in the audit trail: `'workspace lock'`. A route that writes must declare it. The
   * API's documentation reads it, and the tests that make every change.
   */
  audit?: RouteAudit
  /**
   * The schema of each response by its status, without `included`. Errors all have the same schema and need no entry. A handler
   * that returns nothing sends 204 where this has it; elsewhere it has taken over the reply.
   */
  responses: Readonly<Record<number, ResponseSchema>>
  /**
   * The schemas of the query parameters by name, made by the functions of `query.ts`. They parse the query when the handler first
   * reads `req.query`, so `authorise` comes before them. `include` and pagination are added automatically.
   */
  query?: Shape
  /** The sizes of pages, unless they are those of most lists. */
  pageSizes?: PageSizes
  /** The include paths of the route, with the schemas of the resources that they add. */
  include?: IncludeTable
  /**
   * Loads what the path names and checks the permission; throws as `requireX` does. It runs before the body is read, so
   * unauthorised callers can't make the server read one. The handler gets the result as `req.subject`.
   */
  authorise?: (ctx: Ctx, params: Params<Path>) => Promise<Subject>
  /** The schema of the body; without one, the body is not read. */
  body?: Body
  /** The maximum size of the body, in bytes. */
  maxBytes?: number
  /** Attributes with base64 strings. The handler gets the decoded bytes of long ones in `req.contents`. */
  base64Fields?: readonly string[]
  /** It is asked again and again by machines: requests that succeed are logged for `debug` only. */
  polled?: true
  /** Its response is a stream without an end: its duration says nothing, and clients leave it as they like. */
  endless?: true
  /** The body is not parsed: the handler reads the stream `req.raw.body`. */
  upload?: true
  /** The prefix of the path, `/api/v2` by default. */
  prefix?: string
}

export type Request<Path extends string, Body, Subject = undefined, Shape extends QueryShape = QueryShape> = {
  ctx: Ctx
  params: Params<Path>
  query: Query<Shape>
  body: Body
  /** The result of the route's `authorise`. */
  subject: Subject
  /** The decoded bytes of long base64 fields, by name. */
  contents: Contents
  /** The request's path and query, for the links of a list. */
  url: string
  /** The requested page of a list; throws when the parameters are invalid. */
  page(): Page
  /** As `page`, for a list that is whole without the parameters of a page: undefined. */
  pageIfAny(): Page | undefined
  /** The response with the requested page of a list; `paged` has its rows, which `resourceOf` converts, and the total. */
  list: {
    (paged: Paged<Resource>): ApiResponse
    <Row>(paged: Paged<Row>, resourceOf: (row: Row) => Resource): ApiResponse
  }
  header(name: string): string | undefined
  raw: FastifyRequest
  reply: FastifyReply
}

type Handler<Path extends string, Body, Subject, Shape extends QueryShape> = (
  req: Request<Path, Body, Subject, Shape>,
) => Promise<ApiResponse | void>
type AnyHandler = Handler<string, unknown, unknown, QueryShape>

type Register<Required = unknown> = <
  Path extends string,
  Body extends z.ZodType = z.ZodUndefined,
  Subject = undefined,
  Shape extends QueryShape = Record<string, never>,
>(
  path: Path,
  options: RouteOptions<Body, Subject, Path, Shape> & Required,
  handler: Handler<Path, z.infer<Body>, Subject, Shape>,
) => void

/** The interface on which a feature registers its routes. */
export type Http = { get: Register } & {
  [Name in Exclude<Lowercase<Method>, 'get'>]: Register<{ audit: RouteAudit }>
}
export type Routes = (http: Http) => void

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/**
 * A registered route, for the OpenAPI document and for tests of all routes; `feature` is the feature that registered
 * it.
 */
export type Route = { method: Method; url: string; options: RouteOptions; feature: string }

export const API_PREFIX = '/api/v2'
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024
/** Above this size (bytes) a body may take long to arrive. */
const LONG_BODY = 1024 * 1024

export type Scopes = {
  /** The scope of routes whose bodies are parsed. */
  parsed: FastifyInstance
  /** The scope of routes whose bodies stay streams, or are large. */
  streamed: FastifyInstance
}

type HttpOptions = {
  scopes: Scopes
  routes: Route[]
  loaders: Loaders
  limiter: RateLimiter | undefined
  feature: string
}

/** Creates `Http` on two scopes of a Fastify server, and adds each registered route to `routes`. */
export function createHttp(app: App, { scopes, routes, loaders, limiter, feature }: HttpOptions): Http {
  const subjects = new WeakMap<FastifyRequest, unknown>()
  const base = basePath(app.config.baseUrl)

  function register(method: Method, path: string, options: RouteOptions, handler: AnyHandler) {
    const url = `${options.prefix ?? API_PREFIX}${path}`
    routes.push({ method, url, options, feature })
    const { authorise, base64Fields, polled, endless, upload, maxBytes = DEFAULT_MAX_BYTES } = options
    const scope = upload || base64Fields ? scopes.streamed : scopes.parsed
    const admit = createAdmission(app, limiter, url, options.access)
    const offered = Object.keys(options.include ?? {})
    const isEmpty = options.responses[204] === null
    const parseQuery = queryParser(options.query ?? {})
    scope.route({
      method,
      url,
      bodyLimit: maxBytes,
      config: { ...(base64Fields && { base64Fields }), ...(polled && { polled }), ...(endless && { endless }) },
      // Authenticate before the body is read, so that nothing is read from refused callers.
      onRequest: async (raw, reply) => {
        await admit(raw, reply)
        if (upload) checkLength(raw, maxBytes)
        if (authorise) subjects.set(raw, await authorise(contextOf(raw), raw.params))
      },
      handler: async (raw, reply) => {
        const ctx = contextOf(raw)
        const given = raw.query as Record<string, unknown>
        // Fastify calls no parser for an empty body.
        if (upload) raw.body ??= Readable.from([])
        const contents = base64Fields ? takeContents(raw.body, base64Fields) : {}
        const body = options.body && parseBody(options.body, raw.body)
        if (authorise && !upload && isLongBody(raw)) subjects.set(raw, await authorise(ctx, raw.params))
        const includes = readIncludes(given, offered)
        let query: Query<QueryShape> | undefined
        const response = await handler({
          ctx,
          params: raw.params,
          get query() {
            query ??= parseQuery(given)
            return query
          },
          body,
          subject: subjects.get(raw),
          contents,
          url: raw.url,
          page: () => readPage(given, options.pageSizes),
          list: <Row>({ rows, total }: Paged<Row>, resourceOf = (row: Row) => row as Resource) => {
            const page = readPage(given, options.pageSizes)
            return listPage({ url: raw.url, page }, { rows: rows.map((row) => resourceOf(row)), total })
          },
          pageIfAny: () => (namesPage(given) ? readPage(given, options.pageSizes) : undefined),
          header: (name) => [raw.headers[name.toLowerCase()]].flat()[0],
          raw,
          reply,
        })
        if (!response && !isEmpty) return reply
        const included = await addIncluded(ctx, loaders, response ?? { status: 204 }, includes)
        return writeResponse(app, raw, reply, responseWithBasePath(base, included))
      },
    })
  }

  function contextOf(raw: FastifyRequest): Ctx {
    const request = { id: raw.id, address: raw.ip, userAgent: raw.headers['user-agent'] }
    return { ...app, actor: getActor(raw), request }
  }

  const method = (name: Method) => (path: string, options: unknown, handler: unknown) => {
    register(name, path, options as RouteOptions, handler as AnyHandler)
  }
  return {
    get: method('GET'),
    post: method('POST'),
    patch: method('PATCH'),
    put: method('PUT'),
    delete: method('DELETE'),
  }
}

function checkLength(raw: FastifyRequest, maxBytes: number) {
  const length = Number(raw.headers['content-length'] ?? 0)
  if (length > maxBytes) throw tooLarge(`the upload has ${length} bytes, at most ${maxBytes} are taken`)
}

/** Whether a body may have taken so long that what its route authorised before must be loaded and authorised again. */
function isLongBody(raw: FastifyRequest) {
  return Number(raw.headers['content-length'] ?? Infinity) > LONG_BODY
}
