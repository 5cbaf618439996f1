import type { Ctx } from '../../../app.ts'
import { newTokenText, tokenHash } from '../../../auth/tokens.ts'
import { forbidden } from '../../../errors.ts'
import { responseUrl, type AuthorizeRequest, CLI_CLIENT } from './request.ts'
import * as store from './store.ts'

/** The command line exchanges its code at once. Five minutes allow for slow machines. */
const CODE_LIFE_MS = 5 * 60_000

/** The user in the browser consents: creates a code and returns the URL that carries it to the command line. */
export async function approve(ctx: Ctx, request: AuthorizeRequest) {
  if (ctx.actor.kind !== 'user' || ctx.actor.sessionId === undefined)
    throw forbidden('only a person in a browser can sign a command line in')
  const code = newTokenText()
  await store.insertCode(ctx.db, {
    hash: tokenHash(code),
    user_id: ctx.actor.userId,
    client_id: CLI_CLIENT.id,
    redirect_uri: request.redirectUri,
    code_challenge: request.codeChallenge,
    expires_at: new Date(ctx.now().getTime() + CODE_LIFE_MS),
  })
  return responseUrl(request, { code })
}

/** The user refuses: returns the URL that tells the command line. */
export function deny(request: AuthorizeRequest) {
  return responseUrl(request, { error: 'access_denied', error_description: 'the request was denied' })
}
