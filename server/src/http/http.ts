import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { App, Ctx } from '../app.ts'
import { type Actor, ANONYMOUS, isSiteAdmin } from '../auth/actor.ts'
import { authenticate } from '../auth/authenticate.ts'
import { badRequest, notFound, tooLarge, tooManyRequests, unauthorized } from '../errors.ts'
import type { Answer } from './answers.ts'
import { readIncludes } from './includes.ts'
import { readPage } from './pagination.ts'
import { callerKey, type RateLimiter } from './rate-limit.ts'
import { getActor, setActor } from './request-log.ts'
import { parseBody } from './validation.ts'
import { writeAnswer } from './write.ts'
import type { Page } from '../db/page.ts'

/** The parameters in a path, `'/runs/:id'` → `{ id: string }`. */
export type Params<Path extends string> = Path extends `${string}:${infer Name}/${infer Rest}`
  ? { [K in Name]: string } & Params<Rest>
  : Path extends `${string}:${infer Name}`
    ? { [K in Name]: string }
    : unknown

export type RouteOptions<Body extends z.ZodType = z.ZodType> = {
  /** The schema of the body; without one the body is not read. */
  body?: Body
  /**
   * `public` routes take no token; all others answer 401 without a good one. Those of the site's administrators do not exist
   * for anybody else, whatever is sent to them.
   */
  access?: 'token' | 'public' | 'site-admin'
  /** Whether the token of a task result opens it, which opens nothing else. The service checks that it is the right one. */
  forTask?: true
  /** What `include` may name. */
  include?: readonly string[]
  /** The largest body, in bytes. */
  maxBytes?: number
  /** Fields whose texts are base64: of a long one the handler gets the bytes that it stands for. */
  base64Fields?: readonly string[]
  /** Asked before a large body is read; throws for a sender whose request comes to nothing whatever the body says. */
  beforeLargeBody?: (ctx: Ctx, params: Record<string, string>) => Promise<unknown>
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
  [Name in Lowercase<Method>]: {
    <Path extends string>(path: Path, handler: Handler<Path, undefined>): void
    <Path extends string, Body extends z.ZodType = z.ZodUndefined>(
      path: Path,
      options: RouteOptions<Body>,
      handler: Handler<Path, z.infer<Body>>,
    ): void
  }
}
export type Routes = (http: Http) => void

type Method = 'GET' | 'POST' | 'PATCH' | 'PUT' | 'DELETE'

/** A registered route, for the OpenAPI document and for tests that walk all of them; `feature` names who registered it. */
export type Route = { method: Method; url: string; options: RouteOptions; feature: string }

export const API_PREFIX = '/api/v2'
const DEFAULT_MAX_BYTES = 2 * 1024 * 1024
/** From this size (bytes) on, reading a body costs more than asking first whether it is worth it. */
const LARGE_BODY = 1024 * 1024

/** What is rate-limited; agents, object URLs and probes are not: they come as often as the work asks for. */
const LIMITED_PATHS = /^\/(?:api\/v2|api\/meta|oauth|docs)\//

export type Scopes = {
  /** Its bodies are parsed. */
  parsed: FastifyInstance
  /** Its bodies stay streams. */
  streamed: FastifyInstance
}

/** Binds `Http` to two scopes of a Fastify server; what is registered is added to `routes`. */
export function createHttp(
  app: App,
  options: { scopes: Scopes; routes: Route[]; limiter: RateLimiter | undefined; feature: string },
): Http {
  const { scopes, routes, feature } = options

  function register(method: Method, path: string, options: RouteOptions, handler: Handler<string, unknown>) {
    const url = `${options.prefix ?? API_PREFIX}${path}`
    routes.push({ method, url, options, feature })
    const scope = options.upload ? scopes.streamed : scopes.parsed
    const maxBytes = options.maxBytes ?? DEFAULT_MAX_BYTES
    const admit = LIMITED_PATHS.test(url) ? admitLimited : admitAny
    scope.route({
      method,
      url,
      bodyLimit: maxBytes,
      config: options.base64Fields ? { base64Fields: options.base64Fields } : {},
      // Before the body: nothing is read of one whose sender has no right to send it.
      onRequest: async (raw, reply) => {
        if (raw.url.includes('%00')) throw badRequest('the URL has the character U+0000, which no name has')
        await admit(raw, reply, options.access === 'public' ? 'public' : 'token')
        if (getActor(raw).kind === 'task' && !options.forTask) {
          throw unauthorized('the access token of a run task opens its callback, its plan and its configuration only')
        }
        if (options.access === 'site-admin' && !isSiteAdmin(getActor(raw))) throw notFound('resource')
        if (options.upload) checkLength(raw, maxBytes)
        if (options.beforeLargeBody && Number(raw.headers['content-length'] ?? Infinity) > LARGE_BODY) {
          await options.beforeLargeBody(contextOf(raw), raw.params as Record<string, string>)
        }
      },
      handler: async (raw, reply) => {
        const query = raw.query as Record<string, unknown>
        // Without content there is nothing that the parsers are called for.
        if (options.upload) raw.body ??= Readable.from([])
        const answer = await handler({
          ctx: contextOf(raw),
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
        return answer ? writeAnswer(app, raw, reply, answer) : reply
      },
    })
  }

  function contextOf(raw: FastifyRequest): Ctx {
    const request = { id: raw.id, address: raw.ip, userAgent: raw.headers['user-agent'] }
    return { ...app, actor: getActor(raw), request }
  }

  async function admitAny(raw: FastifyRequest, _: FastifyReply, access: 'token' | 'public') {
    setActor(raw, await authenticate(app, raw, access))
  }

  async function admitLimited(raw: FastifyRequest, reply: FastifyReply, access: 'token' | 'public') {
    try {
      await admitAny(raw, reply, access)
    } catch (error) {
      // Whoever guesses tokens has a new one each time, and one address.
      takeAllowance(ANONYMOUS, raw, reply)
      throw error
    }
    takeAllowance(getActor(raw), raw, reply)
  }

  function takeAllowance(actor: Actor, raw: FastifyRequest, reply: FastifyReply) {
    if (!options.limiter) return
    const { limit, take } = options.limiter
    const { allowed, remaining, waitMs } = take(callerKey(actor, raw.ip), app.now().getTime())
    reply.headers({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': (waitMs / 1000).toFixed(3),
    })
    if (!allowed) throw tooManyRequests(`more than ${limit} requests a second, slow down`, waitMs)
  }

  const method = (name: Method) => (path: string, first: unknown, second?: unknown) => {
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

function checkLength(raw: FastifyRequest, maxBytes: number) {
  const length = Number(raw.headers['content-length'] ?? 0)
  if (length > maxBytes) throw tooLarge(`the upload has ${length} bytes, at most ${maxBytes} are taken`)
}
