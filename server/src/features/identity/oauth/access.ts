import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyRequest } from 'fastify'
import type { Ctx } from '../../../app.ts'
import { checkSameOrigin, findSessionActor, sessionCookie } from '../../../auth/authenticate.ts'
import { forbidden } from '../../../errors.ts'

/**
 * The user who is signed in, and the token that protects forms against cross-site requests; undefined without a
 * session.
 */
export async function findBrowser(ctx: Ctx, request: FastifyRequest) {
  const cookie = sessionCookie(request)
  const actor = cookie === undefined ? undefined : await findSessionActor(ctx, cookie)
  if (cookie === undefined || !actor) return undefined
  return { actor, csrf: createHash('sha256').update(`consent:${cookie}`).digest('base64url') }
}

/** Makes the user in the browser the actor. Throws `forbidden` unless the form was made for their session. */
export async function requireBrowser(ctx: Ctx, request: FastifyRequest, csrf: string): Promise<Ctx> {
  checkSameOrigin(ctx, request)
  const browser = await findBrowser(ctx, request)
  if (!browser || !isSame(csrf, browser.csrf)) throw forbidden('the page is out of date, run the command again')
  return { ...ctx, actor: browser.actor }
}

function isSame(given: string, expected: string) {
  return given.length === expected.length && timingSafeEqual(Buffer.from(given), Buffer.from(expected))
}
