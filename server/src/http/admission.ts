import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { ANONYMOUS, type Actor, isSiteAdmin } from '../auth/actor.ts'
import { badRequest, notFound, tooManyRequests, unauthorized } from '../errors.ts'
import { authenticate } from './authenticate.ts'
import { type RateLimiter, callerKey } from './rate-limit.ts'
import { getActor, setActor } from './request-log.ts'
import { type RouteAccess, admitsTask, isForSiteAdmins, takesNoToken } from './route-access.ts'

/** The paths that are rate-limited. Agents, signed URLs and probes are not: their work sets their pace. */
const LIMITED_PATHS = /^\/(?:api\/v2|api\/meta|oauth|docs)\//

export type Admit = (raw: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Authenticates requests to the route at `url`, and refuses actors that the route does not accept. */
export function createAdmission(app: App, limiter: RateLimiter | undefined, url: string, access: RouteAccess): Admit {
  const credentials = takesNoToken(access) ? 'public' : 'token'
  const refusesTasks = !admitsTask(access)
  const hidden = isForSiteAdmins(access)
  const identify = limiter && LIMITED_PATHS.test(url) ? identifyLimited : identifyAny

  async function identifyAny(raw: FastifyRequest) {
    setActor(raw, await authenticate(app, raw, credentials))
  }

  async function identifyLimited(raw: FastifyRequest, reply: FastifyReply) {
    try {
      await identifyAny(raw)
    } catch (error) {
      // Guessed tokens differ each time, but they come from one address.
      takeAllowance(ANONYMOUS, raw, reply)
      throw error
    }
    takeAllowance(getActor(raw), raw, reply)
  }

  function takeAllowance(actor: Actor, raw: FastifyRequest, reply: FastifyReply) {
    if (!limiter) return
    const { limit, take } = limiter
    const { allowed, remaining, waitMs } = take(callerKey(actor, raw.ip), app.now().getTime())
    reply.headers({
      'x-ratelimit-limit': String(limit),
      'x-ratelimit-remaining': String(remaining),
      'x-ratelimit-reset': (waitMs / 1000).toFixed(3),
    })
    if (!allowed) throw tooManyRequests(`more than ${limit} requests a second, slow down`, waitMs)
  }

  return async (raw, reply) => {
    if (raw.url.includes('%00')) throw badRequest('the URL has the character U+0000, which no name has')
    await identify(raw, reply)
    if (refusesTasks && getActor(raw).kind === 'task') {
      throw unauthorized('the access token of a run task opens its callback, its plan and its configuration only')
    }
    if (hidden && !isSiteAdmin(getActor(raw))) throw notFound('resource')
  }
}
