import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { App, Ctx } from '../app.ts'
import { tooLarge } from '../errors.ts'
import { type Access, createAdmission } from './admission.ts'
import type { Answer, AnswerSchema } from './answers.ts'
import { type Contents, takeContents } from './base64-fields.ts'
import { type IncludeTable, offeredPaths, readIncludes } from './includes.ts'
import { addIncluded, type Loaders } from './loaders.ts'
import { readPage } from './pagination.ts'
import type { Page } from '../db/page.ts'
import type { RateLimiter } from './rate-limit.ts'
import { getActor } from './request-log.ts'
import { parseBody } from './validation.ts'
import { writeAnswer } from './write.ts'

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
> = Access & {
  /** What it does, for the documentation of the API: `Lock a workspace`. Imperative, no full stop. */
  summary?: string
  /** The schema of each answer by its status, without what is included. Errors need none: they are all of one kind. */
  answers?: Readonly<Record<number, AnswerSchema>>
  /** Query parameters beside `include` and the page, by name; for documentation. */
  query?: Readonly<Record<string, z.ZodType>>
  /** What `include` may name, and the schemas of what it brings. */
  include?: IncludeTable | readonly string[]
  /**
   * Loads what the path names and checks that the caller may do this to it; throws as `requireX` does. Called before anything
   * of the body is read: a caller without the right costs no body. The handler gets the result as `req.subject`.
   */
  authorise?: (ctx: Ctx, params: Params<Path>) => Promise<Subject>
  /** The schema of the body; without one the body is not read. */
  body?: Body
  /** The largest body, in bytes. */
  maxBytes?: number
  /** Attributes whose texts are base64: of a long one the handler gets the bytes that it stands for, in `req.contents`. */
  base64Fields?: readonly string[]
  /** The body is not parsed: the handler reads `req.raw.body`, a stream. */
  upload?: true
  /** Paths start at `/api/v2` unless this says otherwise. */
  prefix?: string
}

export type Request<Path extends string, Body, Subject = undefined> = {
  ctx: Ctx
  params: Params<Path>
  query: Record<string, unknown>
  body: Body
  /** What `authorise` of the route has returned. */
  subject: Subject
  /** The bytes of long base64 fields, by name. */
  contents: Contents
  includes: ReadonlySet<string>
  /** The request's path and query, for the links of a list. */
  url: string
  /** The page of a list, read when asked for. */
  page(): Page
  header(name: string): string | undefined
  raw: FastifyRequest
  reply: FastifyReply
}

type Handler<Path extends string, Body, Subject> = (req: Request<Path, Body, Subject>) => Promise<Answer | undefined>

/** What a feature registers its routes on. */
export type Http = {
  [Name in Lowercase<Method>]: {
    <Path extends string>(path: Path, handler: Handler<Path, undefined, undefined>): void
    <Path extends string, Body extends z.ZodType = z.ZodUndefined, Subject = undefined>(
      path: Path,
      options: RouteOptions<Body, Subject, Path>,
      handler: Handler<Path, z.infer<Body>, Subject>,
    ): void
  }
}
export type Routes = (http: Http) => void

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** A registered route, for the OpenAPI document and for tests that walk all of them; `feature` names who registered it. */
export type Route = { method: Method; url: string; options: RouteOptions; feature: string }

export const API_PREFIX = '/api/v2'
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024

export type Scopes = {
  /** Its bodies are parsed. */
  parsed: FastifyInstance
  /** Its bodies stay streams. */
  streamed: FastifyInstance
}

type HttpOptions = {
  scopes: Scopes
  routes: Route[]
  loaders: Loaders
  limiter: RateLimiter | undefined
  feature: string
}

/** Binds `Http` to two scopes of a Fastify server; what is registered is added to `routes`. */
export function createHttp(app: App, { scopes, routes, loaders, limiter, feature }: HttpOptions): Http {
  const subjects = new WeakMap<FastifyRequest, unknown>()

  function register(method: Method, path: string, options: RouteOptions, handler: Handler<string, unknown, unknown>) {
    const url = `${options.prefix ?? API_PREFIX}${path}`
    routes.push({ method, url, options, feature })
    const { authorise, base64Fields, upload, maxBytes = DEFAULT_MAX_BYTES } = options
    const scope = upload ? scopes.streamed : scopes.parsed
    const admit = createAdmission(app, limiter, url, options)
    const offered = offeredPaths(options.include ?? [])
    scope.route({
      method,
      url,
      bodyLimit: maxBytes,
      config: base64Fields ? { base64Fields } : {},
      // Before the body: nothing is read of one whose sender has no right to send it.
      onRequest: async (raw, reply) => {
        await admit(raw, reply)
        if (upload) checkLength(raw, maxBytes)
        if (authorise) subjects.set(raw, await authorise(contextOf(raw), raw.params))
      },
      handler: async (raw, reply) => {
        const ctx = contextOf(raw)
        const query = raw.query as Record<string, unknown>
        // Without content there is nothing that the parsers are called for.
        if (upload) raw.body ??= Readable.from([])
        const contents = base64Fields ? takeContents(raw.body, base64Fields) : {}
        const body = options.body && parseBody(options.body, raw.body)
        const includes = readIncludes(query, offered)
        const answer = await handler({
          ctx,
          params: raw.params,
          query,
          body,
          subject: subjects.get(raw),
          contents,
          includes,
          url: raw.url,
          page: () => readPage(query),
          header: (name) => [raw.headers[name.toLowerCase()]].flat()[0],
          raw,
          reply,
        })
        if (!answer) return reply
        return writeAnswer(app, raw, reply, await addIncluded(ctx, loaders, answer, includes))
      },
    })
  }

  function contextOf(raw: FastifyRequest): Ctx {
    const request = { id: raw.id, address: raw.ip, userAgent: raw.headers['user-agent'] }
    return { ...app, actor: getActor(raw), request }
  }

  const method = (name: Method) => (path: string, first: unknown, second?: unknown) => {
    const [options, handler] = second === undefined ? [{}, first] : [first, second]
    register(name, path, options as RouteOptions, handler as Handler<string, unknown, unknown>)
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
