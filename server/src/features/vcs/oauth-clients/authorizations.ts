import { randomBytes } from 'node:crypto'
import type { Ctx } from '../../../app.ts'
import { tokenHash } from '../../../auth/tokens.ts'
import { forbidden, unauthorized } from '../../../errors.ts'
import * as store from './store.ts'

/** Time limit for the authorization on the host. */
const LIFE_MS = 15 * 60_000

/** The subject of an authorization: a connection, or an installation of the GitHub App for an organization. */
type Subject = { organizationId: string; clientId: string | null; installationId?: number | null }

/** Returns the state (RFC 6749 §10.12) of an authorization by the signed-in person. */
export async function startAuthorization(
  ctx: Ctx,
  { organizationId, clientId, installationId = null }: Subject,
): Promise<string> {
  const state = randomBytes(32).toString('base64url')
  const now = ctx.now()
  await store.insertAuthorization(ctx.db, now, {
    hash: tokenHash(state),
    organization_id: organizationId,
    oauth_client_id: clientId,
    installation_id: installationId,
    session_id: sessionOf(ctx),
    expires_at: new Date(now.getTime() + LIFE_MS),
  })
  return state
}

/** The subject of the state, which cannot be used again. Throws `unauthorized` for one that was started in another session. */
export async function finishAuthorization(ctx: Ctx, state: string): Promise<Subject> {
  const found = await store.takeAuthorization(ctx.db, tokenHash(state))
  if (!found || found.session_id !== sessionOf(ctx) || found.expires_at <= ctx.now())
    throw unauthorized('the authorization has expired, was used, or was started in another browser: start again')
  const { organization_id: organizationId, oauth_client_id: clientId, installation_id: installationId } = found
  return { organizationId, clientId, installationId }
}

function sessionOf({ actor }: Ctx) {
  if (actor.kind === 'user' && actor.sessionId !== undefined) return actor.sessionId
  throw forbidden('only a person in a browser can authorize a connection')
}
