import type { FastifyRequest } from 'fastify'
import { ANONYMOUS, type Actor, actorId } from '../auth/actor.ts'
import type { Log } from '../log.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    polled?: true
    endless?: true
  }
}

const MAX_PATH = 300

/** The status that proxies log for a client that disconnected before the response. */
export const CLIENT_LEFT = 499

type RequestRecord = { startedAt: number; actor: Actor }
const requests = new WeakMap<FastifyRequest, RequestRecord>()

/** Records the start of a request. */
export function beginRequest(request: FastifyRequest) {
  requests.set(request, { startedAt: performance.now(), actor: ANONYMOUS })
}

/** Records the actor of a request, once it is known. */
export function setActor(request: FastifyRequest, actor: Actor) {
  const facts = requests.get(request)
  if (facts) facts.actor = actor
}

/** The actor of a request; anonymous until it is known. */
export function getActor(request: FastifyRequest): Actor {
  return requests.get(request)?.actor ?? ANONYMOUS
}

/**
 * Logs one line at the end of a request; `bytes` is the size of the response's body, if known. What machines poll is for `debug`, so
 * that a server on which nothing happens says nothing.
 */
export function logRequest(log: Log, request: FastifyRequest, end: { status: number; bytes: unknown }) {
  const { startedAt, actor } = requests.get(request) ?? { startedAt: performance.now(), actor: ANONYMOUS }
  const { polled, endless } = request.routeOptions.config
  const isUsual = (polled && end.status < 400) || (endless && (end.status < 400 || end.status === CLIENT_LEFT))
  log[isUsual ? 'debug' : 'info'](
    {
      request: request.id,
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
 * The path of a request for the log, without its query and without credentials. A signed URL authorises by itself, so
 * it is logged as its route's pattern. An unknown path that resembles one is hidden.
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
