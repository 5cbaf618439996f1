import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { unauthorized } from '../../../errors.ts'
import { findTakenRequest } from './store.ts'

/** The request that an agent has. Throws `unauthorized` when the token is not the request's, or when nobody waits for it any more. */
export async function requireTaskRequest(ctx: Ctx, id: string, token: string | undefined) {
  const hash = token === undefined ? undefined : tokenHash(token).toString('hex')
  const request = hash === undefined ? undefined : await findTakenRequest(ctx.db, { id, hash })
  if (!request) throw unauthorized('the token is not that of this request, or its response is no longer waited for')
  return request
}
