import { Readable } from 'node:stream'
import type { IncludeTable } from '@groundstate/contract/includes'
import type { Resource } from '@groundstate/contract/json-api'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { App, Ctx } from '../app.ts'
import { callerId } from '../auth/actor.ts'
import type { Page, Paged } from '../db/db.ts'
import { AppError, tooLarge } from '../errors.ts'
import { createAdmission } from './admission.ts'
import { responseWithBasePath, basePath } from './base-path.ts'
import { type Contents, takeContents } from './base64-fields.ts'
import { type Loaders, addIncluded, readIncludes } from './loaders.ts'
import { type PageSizes, namesPage, readPage } from './pagination.ts'
import { type Query, type QueryShape, queryParser } from './query.ts'
import type { RateLimiter } from './rate-limit.ts'
import { getActor, inRequest } from './request-log.ts'
import { type ApiResponse, type ResponseSchema, listPage } from './responses.ts'
import type { RouteAccess, RouteAudit } from './route-access.ts'
import { parseBody } from './validation.ts'
import { writeResponse } from './write.ts'

/** The parameters of a path: `'/runs/:id'` → `{ id: string }`. */
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
   * The callers that may use the route: `{ workspace: 'lock' }` or `'public'`, for admission, the API's documentation and
   * `auth/routes-matrix.test.ts`. The permission is checked by the guard, in `authorise` or in the service function.
   */
  access: RouteAccess
  /** The audit events that the route records: `'workspace lock'`. Required for writing routes. */
  audit?: RouteAudit
  /**
   * Schemas of responses by status, without `included`; errors need no entry. A handler that returns nothing sends 204 if it is listed here;
   * otherwise it has written the reply itself.
   */
  responses: Readonly<Record<number, ResponseSchema>>
  /**
   * Schemas of query parameters, created by `query.ts`. The query is parsed when the handler first reads `req.query`, so after `authorise`.
   * `include` and pagination are added automatically.
   */
  query?: Shape
  pageSizes?: PageSizes
  include?: IncludeTable
  /**
   * Loads and authorises the subject of the path, `req.subject` for the handler. It runs before the body is read, so unauthorised callers cannot
   * make the server read one.
   */
  authorise?: (ctx: Ctx, params: Params<Path>) => Promise<Subject>
  body?: Body
  maxBytes?: number
  /** Attributes with base64 strings; `req.contents` has the decoded bytes of long ones. */
  base64Fields?: readonly string[]
  /** The route is polled by machines: successful requests are logged for `debug` only. */
  polled?: true
  /** The response is an endless stream: its duration is not measured, and disconnects are normal. */
  endless?: true
  /** The handler reads the body as the stream `req.raw.body`. */
  upload?: true
  /** Prefix of the path, by default `/api/v2`. */
  prefix?: string
}

export type Request<Path extends string, Body, Subject = undefined, Shape extends QueryShape = QueryShape> = {
  ctx: Ctx
  params: Params<Path>
  query: Query<Shape>
  body: Body
  subject: Subject
  contents: Contents
  url: string
  /** The requested page of a list; throws when the parameters are invalid. */
  page(): Page
  /** As `page`; undefined without page parameters, for lists that are then returned whole. */
  pageIfAny(): Page | undefined
  /** The response with the requested page of a list; `resourceOf` converts its rows. */
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

/** A registered route, for the OpenAPI document and tests; `feature` registered it. */
export type Route = { method: Method; url: string; options: RouteOptions; feature: string }

export const API_PREFIX = '/api/v2'
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024
/** Minimum size of a body that may take long to arrive, in bytes. */
const LONG_BODY = 1024 * 1024

/** Bodies are never unpacked: a small one could fill the memory. */
function checkEncoding({ headers }: FastifyRequest) {
  const { 'content-encoding': encoding = '' } = headers
  if (/^(?:identity)?$/i.test(encoding)) return
  const detail = `the content-encoding is ${encoding}, the body must be sent without one`
  throw new AppError('unsupported-media-type', [{ detail }])
}

type HttpOptions = {
  /** `streamed` is for routes whose bodies remain streams or are large. */
  scopes: { parsed: FastifyInstance; streamed: FastifyInstance }
  routes: Route[]
  loaders: Loaders
  limiter: RateLimiter | undefined
  feature: string
}

/** Creates `Http` on two scopes of a Fastify server; adds each registered route to `routes`. */
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
      config: {
        access: options.access,
        ...(base64Fields && { base64Fields }),
        ...(polled && { polled }),
        ...(endless && { endless }),
      },
      // Before the body is read, so that nothing is read from rejected callers.
      onRequest: async (raw, reply) => inRequest(raw, async () => begin(raw, reply)),
      handler: async (raw, reply) => inRequest(raw, async () => handle(raw, reply)),
    })

    async function begin(raw: FastifyRequest, reply: FastifyReply) {
      await admit(raw, reply)
      checkEncoding(raw)
      const length = Number(raw.headers['content-length'] ?? 0)
      if (upload && length > maxBytes) throw tooLarge(`the upload has ${length} bytes, the maximum is ${maxBytes}`)
      if (authorise) subjects.set(raw, await authorise(contextOf(raw), raw.params))
    }

    async function handle(raw: FastifyRequest, reply: FastifyReply) {
      const ctx = contextOf(raw)
      const rawQuery = raw.query as Record<string, unknown>
      // Fastify calls no parser for an empty body.
      if (upload) raw.body ??= Readable.from([])
      const contents = base64Fields ? takeContents(raw.body, base64Fields) : {}
      const body = options.body && parseBody(options.body, raw.body)
      // A long body may have taken so long that the access has changed.
      const isLong = Number(raw.headers['content-length'] ?? Infinity) > LONG_BODY
      if (authorise && !upload && isLong) subjects.set(raw, await authorise(ctx, raw.params))
      const includes = readIncludes(rawQuery, offered)
      let query: Query<QueryShape> | undefined
      const response = await handler({
        ctx,
        params: raw.params,
        get query() {
          return (query ??= parseQuery(rawQuery))
        },
        body,
        subject: subjects.get(raw),
        contents,
        url: raw.url,
        page: () => readPage(rawQuery, options.pageSizes),
        list: <Row>({ rows, total }: Paged<Row>, resourceOf = (row: Row) => row as Resource) => {
          const page = readPage(rawQuery, options.pageSizes)
          return listPage({ url: raw.url, page }, { rows: rows.map((row) => resourceOf(row)), total })
        },
        pageIfAny: () => (namesPage(rawQuery) ? readPage(rawQuery, options.pageSizes) : undefined),
        header: (name) => [raw.headers[name.toLowerCase()]].flat()[0],
        raw,
        reply,
      })
      if (!response && !isEmpty) return reply
      const included = await addIncluded(ctx, loaders, response ?? { status: 204 }, includes)
      return writeResponse(app, raw, reply, responseWithBasePath(base, included))
    }
  }

  function contextOf(raw: FastifyRequest): Ctx {
    const request = { id: raw.id, address: raw.ip.replace(/^::ffff:/, ''), userAgent: raw.headers['user-agent'] }
    const actor = getActor(raw)
    return { ...app, actor, request, caller: callerId(actor) }
  }

  const method = (name: Method) => (path: string, options: unknown, handler: unknown) =>
    register(name, path, options as RouteOptions, handler as AnyHandler)
  return {
    get: method('GET'),
    post: method('POST'),
    patch: method('PATCH'),
    put: method('PUT'),
    delete: method('DELETE'),
  }
}
