import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { withLogFields } from '@groundstate/agent/log-fields'
import type { Span, SpanOptions } from '@groundstate/agent/tracing/span'
import { inSpan, startSpan } from '@groundstate/agent/tracing/tracing'
import type { FastifyRequest } from 'fastify'
import { ANONYMOUS, type Actor, actorId } from '../auth/actor.ts'
import type { Log } from '../log.ts'
import { type RouteAccess, takesNoCredentials } from './route-access.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    polled?: true
    endless?: true
    access?: RouteAccess
  }
}

const MAX_PATH = 300

/** The status that proxies log for a client that disconnected before the response. */
export const CLIENT_LEFT = 499

type RequestRecord = {
  startedAt: number
  actor: Actor
  fields: Record<string, string>
  span: Span | undefined
  /** Whether the span belongs to the trace of the client. */
  isContinued: boolean
}
const requests = new WeakMap<FastifyRequest, RequestRecord>()

/** The client's request id, if it is short and printable; otherwise a new one. */
export function requestId({ headers }: IncomingMessage) {
  const given = [headers['x-request-id']].flat()[0] ?? ''
  return /^[\w.:=+/@-]{1,128}$/.test(given) ? given : randomUUID()
}

export function beginRequest(request: FastifyRequest) {
  const { runId: run, jobId: job } = (request.params ?? {}) as Record<string, string | undefined>
  const ids = { ...(run !== undefined && { run }), ...(job !== undefined && { job }) }
  const fields = { request: request.id, ...ids }
  const parent = clientTrace(request)
  const span = requestSpan(request, fields, { parent })
  const isContinued = parent !== null
  requests.set(request, { startedAt: performance.now(), actor: ANONYMOUS, fields, span, isContinued })
}

/** The `traceparent` of a client that must have credentials, which are checked later (see `logRequest`); null without one. */
function clientTrace({ headers, routeOptions }: FastifyRequest) {
  const { access } = routeOptions.config
  return access === undefined || takesNoCredentials(access) ? null : ([headers['traceparent']].flat()[0] ?? null)
}

/** The span of a request, unless it is polled or matches no route. */
function requestSpan(
  { method, routeOptions }: FastifyRequest,
  ids: Record<string, string>,
  options: Pick<SpanOptions, 'parent' | 'startTime'>,
) {
  const { url: route, config } = routeOptions
  if (route === undefined || config.polled || config.endless) return undefined
  const attributes = { 'http.request.method': method, 'http.route': route, ...attributesOf(ids) }
  return startSpan(`${method} ${route}`, { kind: 'server', attributes, ...options })
}

function attributesOf({ request, run, job }: Record<string, string | undefined>) {
  return { 'groundstate.request.id': request, 'groundstate.run.id': run, 'groundstate.job.id': job }
}

/** Does a part of a request, with its ids in log lines and its span as the parent of others. */
export function inRequest<T>(request: FastifyRequest, work: () => T): T {
  const { fields, span } = requests.get(request) ?? {}
  return fields ? withLogFields(fields, () => inSpan(span, work)) : work()
}

export function setActor(request: FastifyRequest, actor: Actor) {
  const record = requests.get(request)
  if (record) record.actor = actor
}

/** The actor of a request; anonymous before authentication. */
export function getActor(request: FastifyRequest): Actor {
  return requests.get(request)?.actor ?? ANONYMOUS
}

/**
 * Logs one line at the end of a request; `bytes` is the size of the response's body, if known. Successful polls are logged for `debug`, so that
 * an idle server logs nothing.
 */
export function logRequest(log: Log, request: FastifyRequest, end: { status: number; bytes?: unknown }) {
  const record = requests.get(request)
  const { startedAt = performance.now(), actor = ANONYMOUS, fields = {} } = record ?? {}
  // A stranger must not decide whether requests are recorded: the span that continues its trace is dropped. The tokens of jobs have no actor,
  // and only requests with a right one succeed or conflict.
  const isRefused = end.status >= 400 && end.status !== 409
  const isStranger = record?.isContinued === true && actor.kind === 'anonymous' && isRefused
  const startTime = Date.now() - (performance.now() - startedAt)
  const span = isStranger ? requestSpan(request, fields, { parent: null, startTime }) : record?.span
  span?.set({ 'http.response.status_code': end.status, 'groundstate.actor': actor.kind })
  span?.end(end.status >= 500 ? String(end.status) : undefined)
  const { polled, endless } = request.routeOptions.config
  const isRoutine = (polled && end.status < 400) || (endless && (end.status < 400 || end.status === CLIENT_LEFT))
  log[isRoutine ? 'debug' : 'info'](
    {
      request: request.id,
      ...fields,
      ...(span && { trace: span.traceId }),
      method: request.method,
      path: loggedPath(request),
      status: end.status,
      ms: Math.round((performance.now() - startedAt) * 10) / 10,
      actor: actor.kind,
      id: actorId(actor),
      bytes: end.bytes === undefined ? undefined : Number(end.bytes),
    },
    'request',
  )
}

/**
 * The path of a request for the log, without query and credentials. A signed URL is a credential, so it is logged as the pattern of its route.
 * Unknown paths that resemble one are hidden.
 */
export function loggedPath(request: FastifyRequest) {
  const pattern = request.routeOptions.url
  const path = request.url.split('?', 1)[0] ?? ''
  if (pattern !== undefined && pattern !== '*') return isSecret(pattern) ? pattern : path.slice(0, MAX_PATH)
  return isSecret(decoded(path)) ? '(an object)' : path.slice(0, MAX_PATH)
}

function isSecret(path: string) {
  return /objects\/|:(?:token|secret|code|signature)\b/i.test(path)
}

function decoded(path: string) {
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
