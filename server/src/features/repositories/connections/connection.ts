import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import type { Method } from '../../../outbound/outbound.ts'
import { type Host, type HostApi, type HostConnection, HostError } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { fetchThroughPool } from '../../tasks/task-requests/fetch.ts'
import { tokenContext } from '../../vcs/oauth-clients/service.ts'
import { type ConnectionRow, findConnection } from '../../vcs/oauth-clients/store.ts'
import { noticeRefusal } from './refusal.ts'
import * as store from './store.ts'

/** Maximum size of a response of a host, in bytes: a hundred pull requests of GitHub have about 2 MB. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 30_000

/** A connection, opened for requests to its host. */
export type Connection = { row: ConnectionRow; host: Host; access: HostConnection }

/** Throws `not-found` for a token that was deleted. */
export async function openConnection(ctx: Ctx, tokenId: string): Promise<Connection> {
  const row = await findConnection(ctx.db, tokenId)
  if (!row) throw notFound('OAuth token')
  const token = row.token === null ? '' : ctx.secrets.openText(row.token, tokenContext(row.id, 'token'))
  const { http_url: httpUrl, api_url: apiUrl, username } = row
  const access = { httpUrl, apiUrl, token, username, fetch: hostFetch(ctx, poolOf(row)) }
  return { row, host: hostOf(row.service_provider), access }
}

/** The access through which a repository is used. Throws `not-found` if it was deleted. */
export async function openConnectionOf(
  ctx: Ctx,
  repository: { oauth_token_id: string | null; github_app_installation_id: string | null },
): Promise<Connection> {
  return openConnection(ctx, repository.oauth_token_id ?? '')
}

/** The pool whose agents reach the host, if the connection names one. */
export function poolOf(row: Pick<ConnectionRow, 'agent_pool_id' | 'agent_pool_name'>) {
  return row.agent_pool_id === null ? undefined : { id: row.agent_pool_id, name: row.agent_pool_name ?? '' }
}

/** `fetch` for the API of a host: through the agents of a pool, or from here, under the rules for outbound addresses. */
export function hostFetch(ctx: Ctx, pool: ReturnType<typeof poolOf>): typeof fetch {
  if (pool) return fetchThroughPool(ctx, pool)
  return async (input, init = {}) =>
    ctx.outbound.fetch(input instanceof Request ? input.url : String(input), {
      method: (init.method ?? 'GET') as Method,
      headers: Object.fromEntries(new Headers(init.headers)),
      body: typeof init.body === 'string' ? init.body : null,
      maxBytes: MAX_RESPONSE_BYTES,
      timeoutMs: TIMEOUT_MS,
      signal: init.signal ?? undefined,
    })
}

/**
 * Sends requests to the host of a connection. What the host says about the connection is recorded: a refused token marks it as failed,
 * until somebody replaces the token, and a rate limit blocks it for the time that the host names. Throws a `HostError`; one of a blocked
 * connection is thrown without a request.
 */
export async function callHost<T>(ctx: Ctx, connection: Connection, work: (api: HostApi) => Promise<T>): Promise<T> {
  const { row, host, access } = connection
  if (!host.api) throw new HostError('not-found', `${host.name} has no API`)
  const waitMs = (row.blocked_until?.getTime() ?? 0) - ctx.now().getTime()
  if (waitMs > 0) throw new HostError('rate-limited', `${host.name} limits requests`, { retryAfterMs: waitMs })
  try {
    const result = await work(host.api(access))
    await recordAccepted(ctx, row)
    return result
  } catch (error) {
    if (error instanceof HostError) await record(ctx, connection, error)
    throw error
  }
}

/** The host accepted the token: it no longer counts as refused. */
export async function recordAccepted(ctx: Ctx, row: ConnectionRow) {
  if (row.failed_at === null) return
  await transact(ctx, async (ctx) => {
    await store.setFailure(ctx.db, row.id, null)
    announce(ctx, { organization: row.organization_id, type: 'oauth-clients', id: row.oauth_client_id })
  })
}

async function record(ctx: Ctx, connection: Connection, error: HostError) {
  if (error.kind === 'rate-limited' && error.retryAfterMs !== undefined) {
    const until = new Date(ctx.now().getTime() + error.retryAfterMs)
    await store.setBlocked(ctx.db, connection.row.oauth_client_id, until)
  }
  if (error.kind === 'unauthorised') await recordRefused(ctx, connection, error.message)
}

/** The host refused the token or key: it counts as failed, and owners are told. */
export async function recordRefused(ctx: Ctx, { row, host }: Connection, message: string) {
  await transact(ctx, async (ctx) => {
    // Only the first refusal is news.
    if (!(await store.setFailure(ctx.db, row.id, { at: ctx.now(), message }))) return
    announce(ctx, { organization: row.organization_id, type: 'oauth-clients', id: row.oauth_client_id })
    await noticeRefusal(ctx, row, host.name)
  })
}

/** For requests of users: what the host said, as an error about `pointer` in the body, or about the whole request. */
export function translateHostError(error: unknown, pointer?: string): never {
  if (!(error instanceof HostError)) throw error
  if (error.kind === 'unavailable' || error.kind === 'rate-limited')
    throw new AppError('unavailable', [{ detail: error.message }], {
      cause: error,
      retryAfterMs: error.retryAfterMs ?? 5000,
    })
  throw invalid(error.message, pointer)
}
