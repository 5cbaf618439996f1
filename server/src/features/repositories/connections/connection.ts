import type { Ctx } from '../../../app.ts'
import { announce } from '../../../changes/announce.ts'
import { transact } from '../../../db/db.ts'
import { AppError, invalid, notFound } from '../../../errors.ts'
import type { Method } from '../../../outbound/outbound.ts'
import { type Host, type HostApi, type HostConnection, HostError } from '../../../vcs-hosts/host.ts'
import { hostOf } from '../../../vcs-hosts/list.ts'
import { fetchThroughPool } from '../../tasks/task-requests/fetch.ts'
import { findInstallationConnection } from '../../vcs/github-app-installations/store.ts'
import { tokenContext } from '../../vcs/oauth-clients/service.ts'
import { type ConnectionRow, findConnection } from '../../vcs/oauth-clients/store.ts'
import { recordVcsEvent } from '../vcs-events/record.ts'
import { requireGithubApp } from './github-app.ts'
import { refreshToken } from './refresh.ts'
import { noticeRefusal } from './refusal.ts'
import * as store from './store.ts'

/** Maximum size of a response of a host, in bytes: a hundred pull requests of GitHub have about 2 MB. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024
const TIMEOUT_MS = 30_000

/** A token, or an installation of the GitHub App: then `oauth_client_id` is null. */
type OpenedRow = Pick<ConnectionRow, 'id' | 'organization_id' | 'organization_name' | 'service_provider' | 'token'> &
  Pick<
    ConnectionRow,
    'ssh_key' | 'agent_pool_id' | 'agent_pool_name' | 'failed_at' | 'blocked_until' | 'unreachable_since'
  > & {
    oauth_client_id: string | null
  }

/** A connection, opened for requests to its host. `api` is null for a host without one, and `apiWith` is one that uses another `fetch`. */
export type Connection = {
  row: OpenedRow
  host: Host
  access: HostConnection
  api: HostApi | null
  apiWith: (fetch: HostConnection['fetch']) => HostApi | null
}

/**
 * Opens the connection of a token, which is refreshed first if it expires soon: not in a transaction, which could lose the new one. Throws
 * `not-found` for a token that was deleted, and a `HostError` if it cannot be refreshed.
 */
export async function openConnection(ctx: Ctx, tokenId: string): Promise<Connection> {
  const connection = await loadConnection(ctx, tokenId)
  const { row, access } = connection
  try {
    const refreshed = await refreshToken(ctx, row, access.fetch)
    return refreshed === row ? connection : opened(ctx, refreshed)
  } catch (error) {
    if (error instanceof HostError) await record(ctx, connection, error)
    throw error
  }
}

/** As `openConnection`, with the stored token, which may have expired. */
export async function loadConnection(ctx: Ctx, tokenId: string) {
  const row = await findConnection(ctx.db, tokenId)
  if (!row) throw notFound('OAuth token')
  return opened(ctx, row)
}

function opened(ctx: Ctx, row: ConnectionRow) {
  const token = row.token === null ? '' : ctx.secrets.openText(row.token, tokenContext(row.id, 'token'))
  const { http_url: httpUrl, api_url: apiUrl, username } = row
  const access = { httpUrl, apiUrl, token, username, fetch: hostFetch(ctx, poolOf(row)) }
  const host = hostOf(row.service_provider)
  const apiWith = (fetch: typeof access.fetch) => host.api?.({ ...access, fetch }) ?? null
  return { row, host, access, api: apiWith(access.fetch), apiWith }
}

/** As `loadConnection`, for an installation of the GitHub App: without a token for git. */
export async function loadInstallation(ctx: Ctx, id: string) {
  const installation = await findInstallationConnection(ctx.db, id)
  if (!installation) throw notFound('GitHub App installation')
  const { installation_id: number, http_url: httpUrl, api_url: apiUrl } = installation
  const row = {
    ...installation,
    oauth_client_id: null,
    token: null,
    ssh_key: null,
    agent_pool_id: null,
    agent_pool_name: null,
    unreachable_since: null,
  }
  const host = hostOf(row.service_provider)
  const fetch = hostFetch(ctx, undefined)
  const app = requireGithubApp(ctx, { httpUrl, fetch })
  const apiWith = (fetch: HostConnection['fetch']) => app.api(number, fetch)
  const access: HostConnection = { httpUrl, apiUrl, token: '', username: null, fetch }
  return { row, host, access, api: app.api(number), apiWith, requestToken: async () => app.installationToken(number) }
}

async function openInstallation(ctx: Ctx, id: string): Promise<Connection> {
  const { requestToken, ...connection } = await loadInstallation(ctx, id)
  checkUnblocked(ctx, connection)
  try {
    const token = await requestToken()
    return { ...connection, access: { ...connection.access, token } }
  } catch (error) {
    if (error instanceof HostError) await record(ctx, connection, error)
    throw error
  }
}

/** The access through which a repository is used. Throws as `openConnection` does. */
export async function openConnectionOf(
  ctx: Ctx,
  { oauth_token_id, github_app_installation_id: installationId }: ConnectionOf,
): Promise<Connection> {
  return installationId === null ? openConnection(ctx, oauth_token_id ?? '') : openInstallation(ctx, installationId)
}

type ConnectionOf = { oauth_token_id: string | null; github_app_installation_id: string | null }

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
  const { row, host, api } = connection
  if (!api) throw new HostError('not-found', `${host.name} has no API`)
  checkUnblocked(ctx, connection)
  try {
    const result = await work(api)
    await recordAccepted(ctx, row)
    return result
  } catch (error) {
    if (error instanceof HostError) await record(ctx, connection, error)
    if (error instanceof HostError && error.kind === 'unavailable') await recordUnreachable(ctx, row, error.message)
    throw error
  }
}

function checkUnblocked(ctx: Ctx, { row, host }: Connection) {
  const waitMs = (row.blocked_until?.getTime() ?? 0) - ctx.now().getTime()
  if (waitMs > 0) throw new HostError('rate-limited', `${host.name} limits requests`, { retryAfterMs: waitMs })
}

/** The host does not answer, which is shown with the connection until it does. */
export async function recordUnreachable(ctx: Ctx, row: OpenedRow, message: string) {
  if (row.oauth_client_id === null || row.unreachable_since !== null) return
  await transact(ctx, async (ctx) => {
    if (await store.setUnreachable(ctx.db, row.id, { at: ctx.now(), message })) announceConnection(ctx, row)
  })
}

/** The host accepted the token: it no longer counts as refused, or as unreachable. */
export async function recordAccepted(ctx: Ctx, row: OpenedRow) {
  if (row.unreachable_since !== null)
    await transact(ctx, async (ctx) => {
      if (await store.setUnreachable(ctx.db, row.id, null)) announceConnection(ctx, row)
    })
  if (row.failed_at === null) return
  await transact(ctx, async (ctx) => {
    if (!(await store.setFailure(ctx.db, row, null))) return
    announceConnection(ctx, row)
    await recordVcsEvent(ctx, { ...subjectOf(row), level: 'info', message: 'the host accepts the token again' })
  })
}

async function record(ctx: Ctx, connection: Connection, error: HostError) {
  if (error.kind === 'rate-limited' && error.retryAfterMs !== undefined)
    await recordBlocked(ctx, connection, error.retryAfterMs)
  if (error.kind === 'unauthorised') await recordRefused(ctx, connection, error.message)
}

async function recordBlocked(ctx: Ctx, { row, host }: Connection, retryAfterMs: number) {
  const until = new Date(ctx.now().getTime() + retryAfterMs)
  await transact(ctx, async (ctx) => {
    if (!(await store.setBlocked(ctx.db, row, { now: ctx.now(), until }))) return
    announceConnection(ctx, row)
    const message = `${host.name} limits requests: none is sent before ${until.toISOString()}`
    const suggestedAction = 'Use a token with a higher limit, or fewer connections with the same user'
    await recordVcsEvent(ctx, { ...subjectOf(row), level: 'error', message, suggestedAction })
  })
}

/** The host refused the token or key: it counts as failed, and owners are notified. */
export async function recordRefused(ctx: Ctx, { row, host }: Connection, message: string) {
  await transact(ctx, async (ctx) => {
    // Only the first refusal is news, and only of the token in use.
    if (!(await store.setFailure(ctx.db, row, { at: ctx.now(), message }))) return
    announceConnection(ctx, row)
    const suggestedAction =
      row.oauth_client_id === null
        ? 'Install the GitHub App for the account again, or lift the suspension'
        : 'Replace the token of the connection, or authorize the connection again'
    await recordVcsEvent(ctx, { ...subjectOf(row), level: 'error', message, suggestedAction })
    await noticeRefusal(ctx, row, host.name)
  })
}

/** Whose events are recorded. */
export function subjectOf(row: OpenedRow) {
  const { organization_id: organizationId, oauth_client_id: clientId } = row
  return { organizationId, clientId, tokenId: clientId === null ? null : row.id }
}

function announceConnection(ctx: Ctx, { id, organization_id: organization, oauth_client_id: clientId }: OpenedRow) {
  if (clientId === null) announce(ctx, { organization, type: 'github-app-installations', id })
  else announce(ctx, { organization, type: 'oauth-clients', id: clientId })
}

/** For requests of users: what the host said, as an error about `pointer` in the body, or about the whole request. */
export function translateHostError(error: unknown, pointer?: string): never {
  if (!(error instanceof HostError)) throw error
  if (error.mayPass)
    throw new AppError('unavailable', [{ detail: error.message }], {
      cause: error,
      retryAfterMs: error.retryAfterMs ?? 5000,
    })
  throw invalid(error.message, pointer)
}
