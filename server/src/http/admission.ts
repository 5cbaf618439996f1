import type { FastifyReply, FastifyRequest } from 'fastify'
import type { App } from '../app.ts'
import { type Actor, ANONYMOUS, isSiteAdmin } from '../auth/actor.ts'
import { authenticate } from '../auth/authenticate.ts'
import { badRequest, notFound, tooManyRequests, unauthorized } from '../errors.ts'
import { callerKey, type RateLimiter } from './rate-limit.ts'
import { getActor, setActor } from './request-log.ts'

/** Who may send requests to a route. */
export type Access = {
  /**
   * `public` routes take no token; all others answer 401 without a good one. Those of the site's administrators do not exist
   * for anybody else, whatever is sent to them.
   */
  access?: 'token' | 'public' | 'site-admin'
  /** Whether the token of a task result opens it, which opens nothing else. The service checks that it is the right one. */
  forTask?: true
}

/** What is rate-limited; agents, object URLs and probes are not: they come as often as the work asks for. */
const LIMITED_PATHS = /^\/(?:api\/v2|api\/meta|oauth|docs)\//

export type Admit = (raw: FastifyRequest, reply: FastifyReply) => Promise<void>

/** Finds out who sends requests to the route at `url`, and refuses those that it is not open to. */
export function createAdmission(app: App, limiter: RateLimiter | undefined, url: string, route: Access): Admit {
  const access = route.access === 'public' ? 'public' : 'token'
  const identify = limiter && LIMITED_PATHS.test(url) ? identifyLimited : identifyAny

  async function identifyAny(raw: FastifyRequest) {
    setActor(raw, await authenticate(app, raw, access))
  }

  async function identifyLimited(raw: FastifyRequest, reply: FastifyReply) {
    try {
      await identifyAny(raw)
    } catch (error) {
      // Whoever guesses tokens has a new one each time, and one address.
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
    if (getActor(raw).kind === 'task' && !route.forTask) {
      throw unauthorized('the access token of a run task opens its callback, its plan and its configuration only')
    }
    if (route.access === 'site-admin' && !isSiteAdmin(getActor(raw))) throw notFound('resource')
  }
}
