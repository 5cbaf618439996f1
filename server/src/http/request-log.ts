import type { FastifyRequest } from 'fastify'
import { type Actor, ANONYMOUS } from '../auth/actor.ts'
import type { Log } from '../log.ts'

const MAX_PATH = 300

type RequestRecord = { startedAt: number; actor: Actor }
const requests = new WeakMap<FastifyRequest, RequestRecord>()

/** Notes that a request has begun. */
export function beginRequest(request: FastifyRequest) {
  requests.set(request, { startedAt: performance.now(), actor: ANONYMOUS })
}

/** Notes who sent it, once that is known. */
export function setActor(request: FastifyRequest, actor: Actor) {
  const facts = requests.get(request)
  if (facts) facts.actor = actor
}

/** Who sent a request; anonymous until that is known. */
export function getActor(request: FastifyRequest): Actor {
  return requests.get(request)?.actor ?? ANONYMOUS
}

/** Writes the one line of a request, at its end; `bytes` are those of the answer's body, when it was known how many. */
export function logRequest(log: Log, request: FastifyRequest, end: { status: number; bytes: unknown }) {
  const { startedAt, actor } = requests.get(request) ?? { startedAt: performance.now(), actor: ANONYMOUS }
  log.info(
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
 * The path of a request without its query and without what is as good as a token: an object's URL is its own
 * authorisation. Such a path is shown by its pattern; one that no route has is not shown when it looks like one of them.
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

function actorId(actor: Actor): string | undefined {
  switch (actor.kind) {
    case 'user':
      return actor.userId
    case 'organization':
    case 'audit-trails':
      return actor.organizationId
    case 'agent':
      return actor.agentPoolId
    case 'run':
      return actor.runId
    case 'task':
      return actor.taskResultId
    case 'system':
    case 'anonymous':
      return undefined
  }
}

/** How deep a chain of causes is followed. */
const MAX_CAUSES = 5

/**
 * What is logged of an error that nobody expected. PostgreSQL puts the values of the row into `detail`, and for some kinds
 * into the message, so of its errors only what names the place is kept.
 */
export function loggedError(error: unknown, depth = 0): Record<string, unknown> {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = 'code' in error ? error.code : undefined
  const isDatabase = 'severity' in error && typeof code === 'string'
  const message = isDatabase ? error.message.replace(/(["']).*\1/s, '$1…$1') : error.message
  return {
    type: error.name,
    message,
    stack: (error.stack ?? '').replace(error.message, message),
    ...(code !== undefined && { code }),
    ...('constraint' in error && { constraint: error.constraint }),
    ...('table' in error && { table: error.table }),
    ...('column' in error && { column: error.column }),
    ...(error.cause !== undefined && depth < MAX_CAUSES && { cause: loggedError(error.cause, depth + 1) }),
  }
}
