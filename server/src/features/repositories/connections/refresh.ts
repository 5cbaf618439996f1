import type { Ctx } from '../../../app.ts'
import { HostError } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { grantColumns, secretContext, tokenContext } from '../../vcs/oauth-clients/service.ts'
import { type ConnectionRow, endRefresh, leaseRefresh } from '../../vcs/oauth-clients/store.ts'

/** A token is refreshed this long before it expires, so that long operations still find it valid. */
const MARGIN_MS = 5 * 60_000
/** Longer than the request takes at most. */
const LEASE_MS = 60_000

/** Refreshes of this process, by token. */
const running = new Map<string, Promise<ConnectionRow>>()

/**
 * The connection with a token that does not expire soon. One process refreshes it at a time, since hosts accept a refresh token once, and
 * the new one is stored before it is used. Throws a `HostError`: `unauthorised` if the host refuses the refresh token.
 */
export async function refreshToken(ctx: Ctx, row: ConnectionRow, fetch: typeof globalThis.fetch) {
  if (row.refresh_token === null || validMs(ctx, row) > MARGIN_MS) return row
  const refresh = running.get(row.id) ?? lease(ctx, row, fetch).finally(() => running.delete(row.id))
  running.set(row.id, refresh)
  return refresh
}

function validMs(ctx: Ctx, { expires_at: expiresAt }: Pick<ConnectionRow, 'expires_at'>) {
  return expiresAt === null ? Infinity : expiresAt.getTime() - ctx.now().getTime()
}

async function lease(ctx: Ctx, row: ConnectionRow, fetch: typeof globalThis.fetch): Promise<ConnectionRow> {
  const now = ctx.now()
  const leased = await leaseRefresh(ctx.db, row.id, { now, until: new Date(now.getTime() + LEASE_MS) })
  if (!leased) {
    if (validMs(ctx, row) > 0) return row
    throw new HostError('unavailable', 'the token of the connection is being refreshed', { retryAfterMs: 1000 })
  }
  const { refreshing_until: until, ...token } = leased
  const current = { ...row, ...token }
  const key = { id: row.id, until }
  try {
    // Another process may have finished since the row was read.
    if (validMs(ctx, current) > MARGIN_MS) return current
    const columns = grantColumns(ctx, row.id, await requestToken(ctx, current, fetch))
    // A host that returns no refresh token keeps the previous one valid.
    const kept = { ...columns, refresh_token: columns.refresh_token ?? current.refresh_token }
    await endRefresh(ctx.db, key, kept)
    return { ...current, ...kept }
  } catch (error) {
    const isRefused = error instanceof HostError && error.kind === 'unauthorised'
    if (!isRefused && error instanceof HostError && validMs(ctx, current) > 0) return current
    throw error
  } finally {
    await endRefresh(ctx.db, key)
  }
}

async function requestToken(ctx: Ctx, row: ConnectionRow, fetch: typeof globalThis.fetch) {
  const oauth = hostOf(row.service_provider).oauth?.({ httpUrl: row.http_url, fetch })
  if (!oauth || row.refresh_token === null || row.key === null || row.secret === null)
    throw new HostError('unauthorised', 'the token of the connection has expired: authorize it again')
  return oauth.refresh({
    ...oauthApplication(ctx, { ...row, id: row.oauth_client_id, key: row.key, secret: row.secret }),
    refreshToken: ctx.secrets.openText(row.refresh_token, tokenContext(row.id, 'refresh-token')),
  })
}

type SealedApplication = { id: string; uuid: string; key: string; secret: Buffer }

/** The OAuth application of a connection. */
export function oauthApplication(ctx: Ctx, { id, uuid, key, secret }: SealedApplication) {
  return {
    clientId: key,
    clientSecret: ctx.secrets.openText(secret, secretContext(id)),
    redirectUrl: `${ctx.baseUrl}/auth/${uuid}/callback`,
  }
}
