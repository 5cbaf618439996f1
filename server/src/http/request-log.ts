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

export function beginRequest(request: FastifyRequest) {
  requests.set(request, { startedAt: performance.now(), actor: ANONYMOUS })
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
  const { startedAt, actor } = requests.get(request) ?? { startedAt: performance.now(), actor: ANONYMOUS }
  const { polled, endless } = request.routeOptions.config
  const isRoutine = (polled && end.status < 400) || (endless && (end.status < 400 || end.status === CLIENT_LEFT))
  log[isRoutine ? 'debug' : 'info'](
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
