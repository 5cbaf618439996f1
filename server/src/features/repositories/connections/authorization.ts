import type { Ctx } from '../../../app.ts'
import { conflict, forbidden, invalid, notFound, unauthorized } from '../../../errors.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { requireOAuthClient } from '../../vcs/oauth-clients/access.ts'
import { finishAuthorization, startAuthorization } from '../../vcs/oauth-clients/authorizations.ts'
import { authorizeOAuthClient } from '../../vcs/oauth-clients/service.ts'
import { findOAuthApplication } from '../../vcs/oauth-clients/store.ts'
import { hostFetch, poolOf, translateHostError } from './connection.ts'
import { oauthApplication } from './refresh.ts'

/** Parameters that a host appends to the callback's URL (RFC 6749 §4.1.2). */
export type Callback = Partial<Record<'code' | 'state' | 'error' | 'error_description', string | undefined>>

/**
 * The host's page on which the signed-in person authorizes a connection. Throws `not-found` and `forbidden` as `requireOAuthClient`,
 * `conflict` for a connection without an OAuth application.
 */
export async function startConnecting(ctx: Ctx, uuid: string): Promise<string> {
  const { client, oauth, application } = await requireApplication(ctx, uuid)
  const state = await startAuthorization(ctx, { organizationId: client.organization_id, clientId: client.id })
  return oauth.authorizeUrl({ clientId: application.clientId, redirectUrl: application.redirectUrl, state })
}

/** Stores the token that the host issues for the code. Returns the connection. Throws `invalid` with the words of the host. */
export async function finishConnecting(ctx: Ctx, uuid: string, { code, state, ...refused }: Callback) {
  const { client, host, oauth, application } = await requireApplication(ctx, uuid)
  const started = await finishAuthorization(ctx, state ?? '')
  if (started.clientId !== client.id) throw unauthorized('the authorization was started for another connection')
  if (refused.error !== undefined) {
    throw forbidden(`${host.name} did not authorize the connection: ${reasonOf(refused)}`)
  }
  if (!code) throw invalid(`${host.name} sent no code`)
  const grant = await oauth.exchange({ ...application, code }).catch((error: unknown) => translateHostError(error))
  await authorizeOAuthClient(ctx, client, grant)
  return client
}

/** Why a host did not authorize something, in its words. */
export function reasonOf({ error = '', error_description: description = error }: Callback) {
  return description.slice(0, 300)
}

async function requireApplication(ctx: Ctx, uuid: string) {
  const found = await findOAuthApplication(ctx.db, uuid)
  if (!found) throw notFound('OAuth client')
  const client = await requireOAuthClient(ctx, found.id, 'vcs-settings:manage')
  const host = hostOf(found.service_provider)
  const oauth = host.oauth?.({ httpUrl: found.http_url, fetch: hostFetch(ctx, poolOf(found)) })
  const { key, secret } = found
  if (!oauth || key === null || secret === null)
    throw conflict(`the connection has no OAuth application of ${host.name}: it needs its key and secret`)
  return { client, host, oauth, application: oauthApplication(ctx, { ...found, key, secret }) }
}
