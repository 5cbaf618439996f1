import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { ANONYMOUS, type Actor, isSiteAdmin } from '../auth/actor.ts'
import { badRequest, notFound, tooManyRequests, unauthorized } from '../errors.ts'
import { authenticate } from './authenticate.ts'
import { type RateLimiter, callerKey } from './rate-limit.ts'
import { getActor, setActor } from './request-log.ts'
import { type RouteAccess, admitsTask, isForSiteAdmins, takesNoToken } from './route-access.ts'

/** The rate-limited paths. Agents, signed URLs and probes are not limited: their own work paces them. */
const LIMITED_PATHS = /^\/(?:api\/v2|api\/meta|oauth|docs)\//

/** Creates a hook that authenticates requests to the route at `url` and rejects actors that it does not accept. */
export function createAdmission(app: App, limiter: RateLimiter | undefined, url: string, access: RouteAccess) {
  const credentials = takesNoToken(access) ? 'public' : 'token'
  const rejectsTasks = !admitsTask(access)
  const isHidden = isForSiteAdmins(access)
  const limit = limiter && LIMITED_PATHS.test(url) ? createLimit(app, limiter) : undefined

  return async (raw: FastifyRequest, reply: FastifyReply) => {
    if (raw.url.includes('%00')) throw badRequest('the URL must not contain the character U+0000')
    try {
      setActor(raw, await authenticate(app, raw, credentials))
    } catch (error) {
      // Guessed tokens differ each time, so their requests are counted by address.
      limit?.(ANONYMOUS, raw, reply)
      throw error
    }
    const actor = getActor(raw)
    limit?.(actor, raw, reply)
    if (rejectsTasks && actor.kind === 'task') {
      throw unauthorized(
        'the access token of a run task is valid only for its callback, its plan and its configuration',
      )
    }
    if (isHidden && !isSiteAdmin(actor)) throw notFound('resource')
  }
}

function createLimit(app: App, { limit, take }: RateLimiter) {
  return (actor: Actor, raw: FastifyRequest, reply: FastifyReply) => {
    const { allowed, remaining, waitMs } = take(callerKey(actor, raw.ip), app.now().getTime())
    reply.headers({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': (waitMs / 1000).toFixed(3),
    })
    if (!allowed) throw tooManyRequests(`more than ${limit} requests per second`, waitMs)
  }
}
