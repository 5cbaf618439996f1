import type { FastifyRequest } from 'fastify'
import { type Selectable, sql } from 'kysely'
import type { App } from '../app.ts'
import { ANONYMOUS, type Actor, type UserActor, engineNames, userActor } from '../auth/actor.ts'
import { tokenHash } from '../auth/tokens.ts'
import type { Db } from '../db/db.ts'
import { lookup } from '../db/lookup.ts'
import type { Schema } from '../db/schema.gen.ts'
import { throttledTouch } from '../db/throttled-touch.ts'
import { forbidden, unauthorized } from '../errors.ts'

export const SESSION_COOKIE = 'groundstate_session'
/** Minimum interval between writes of `last_used_at`. */
const LAST_USED_INTERVAL_MS = 60_000

/**
 * Finds the actor of a request by its bearer token, otherwise by the session cookie. Throws `unauthorized` without valid credentials. On public
 * routes the actor is always anonymous, since the CLI sends its token with discovery even if the token is no longer valid.
 */
export async function authenticate(app: App, request: FastifyRequest, access: 'token' | 'public'): Promise<Actor> {
  if (access === 'public') return ANONYMOUS
  const token = bearerToken(request)
  if (token !== undefined) {
    const actor = await findTokenActor(app, token)
    if (!actor) throw unauthorized()
    return actor
  }
  const session = sessionCookie(request)
  if (session !== undefined) {
    const actor = await findSessionActor(app, session)
    if (!actor) throw unauthorized('the session has ended, sign in again')
    checkSameOrigin(app, request)
    return actor
  }
  throw unauthorized()
}

export function bearerToken(request: FastifyRequest) {
  return /^bearer\s+(\S+)\s*$/i.exec(request.headers.authorization ?? '')?.[1]
}

export function sessionCookie(request: FastifyRequest) {
  const pairs = (request.headers.cookie ?? '').split(';').map((pair) => pair.trim().split('=', 2))
  return pairs.find(([name, value]) => name === SESSION_COOKIE && value)?.[1]
}

/**
 * Protects against cross-site request forgery: browsers also send the cookie with requests that other sites start, so a change with a cookie
 * must come from our own pages. Browsers always send the origin of such a request.
 */
export function checkSameOrigin(app: Pick<App, 'baseUrl'>, request: FastifyRequest) {
  if (request.method === 'GET' || request.method === 'HEAD') return
  const { origin } = request.headers
  if (origin !== undefined && isOwnOrigin(app, origin, request.headers.host)) return
  throw forbidden(
    origin === undefined
      ? "a request with a session cookie must come from this server's pages and have the header Origin"
      : `a request with a session cookie must come from this server's pages, not from ${origin}`,
  )
}

/** As `checkSameOrigin`, for requests without a cookie, such as signing in. Programs send no origin and pass. */
export function checkOwnPages(app: Pick<App, 'baseUrl'>, request: FastifyRequest) {
  const { origin, host } = request.headers
  if (origin === undefined || isOwnOrigin(app, origin, host)) return
  throw forbidden(`this must come from this server's pages, not from ${origin}`)
}

/** Pages without an origin, such as sandboxed frames, send `null`. */
function isOwnOrigin(app: Pick<App, 'baseUrl'>, origin: string, host: string | undefined) {
  if (!URL.canParse(origin)) return false
  return origin === new URL(app.baseUrl).origin || new URL(origin).host === host
}

/** Finds a token by its hash, as hex text. */
const findToken = lookup(['hash'], (db, { hash }) =>
  db
    .selectFrom('tokens as t')
    .leftJoin('users as u', 'u.id', 't.user_id')
    .leftJoin('runs as r', (join) => join.onRef('r.id', '=', 't.run_id').on('t.kind', '=', sql.lit('run' as const)))
    .select(['r.engine_organization_name', 'r.engine_workspace_name', 'r.withholds_secrets'])
    .select(['t.id', 't.kind', 't.organization_id', 't.team_id', 't.agent_pool_id', 't.run_id', 't.workspace_id'])
    .select(['t.task_result_id', 't.last_used_at', 't.expires_at'])
    .select(['u.id as user_id', 'u.username', 'u.is_site_admin', 'u.suspended_at'])
    .where('t.hash', '=', sql<Buffer>`decode(${hash}, 'hex')`),
)

/** Finds the actor of a token by its text; undefined if the token is unknown, revoked or expired. */
async function findTokenActor(app: App, text: string): Promise<Actor | undefined> {
  const now = app.now()
  const row = await findToken(app.db, { hash: tokenHash(text).toString('hex') })
  if (!row || (row.expires_at && row.expires_at <= now) || row.suspended_at) return undefined
  if (!row.last_used_at) await touchTokens(app.db, [row.id], now)
  else if (now.getTime() - row.last_used_at.getTime() >= LAST_USED_INTERVAL_MS) await touchTokenLater(app, row.id)
  const tokenId = row.id
  switch (row.kind) {
    case 'user':
    case 'team':
      if (row.user_id === null) return undefined
      return {
        kind: 'user',
        userId: row.user_id,
        username: row.username ?? '',
        isSiteAdmin: row.is_site_admin ?? false,
        teamId: row.team_id ?? undefined,
        ...(row.team_id !== null && row.organization_id !== null && { organizationId: row.organization_id }),
        tokenId,
      }
    case 'organization':
    case 'audit-trails':
      return { kind: row.kind, organizationId: required(row.organization_id), tokenId }
    case 'agent':
      return { kind: 'agent', agentPoolId: required(row.agent_pool_id), organizationId: row.organization_id, tokenId }
    case 'run':
      return {
        kind: 'run',
        runId: required(row.run_id),
        workspaceId: required(row.workspace_id),
        organizationId: required(row.organization_id),
        tokenId,
        withholdsSecrets: row.withholds_secrets ?? false,
        names: engineNames(row),
      }
    case 'task':
      return { kind: 'task', taskResultId: required(row.task_result_id), runId: required(row.run_id), tokenId }
  }
}

function required(value: string | null) {
  if (value === null) throw new Error('a column required by the kind of the token is null')
  return value
}

/** Throttled, since hundreds of agents use their tokens all the time. */
const touchTokenLater = throttledTouch(
  async (ctx: Pick<App, 'db' | 'log' | 'now'>, ids) => touchTokens(ctx.db, ids, ctx.now()),
  'the use of tokens',
)

/** The condition on the old value lets only one of several replicas write. */
async function touchTokens(db: Db, ids: readonly string[], now: Date) {
  await db
    .updateTable('tokens')
    .set({ last_used_at: now })
    .where(sql<boolean>`id = any(${ids})`)
    .where(sql<boolean>`(last_used_at is null or last_used_at <= ${new Date(now.getTime() - LAST_USED_INTERVAL_MS)})`)
    .execute()
}

/** Finds the actor of a session cookie; undefined if the session has expired or was unused for too long. */
export async function findSessionActor(app: App, cookie: string): Promise<UserActor | undefined> {
  const now = app.now()
  const row = await app.db
    .selectFrom('sessions as s')
    .innerJoin('users as u', 'u.id', 's.user_id')
    .select(['s.id as session_id', 's.created_at', 's.last_used_at', 's.idle_minutes', 's.longest_idle_minutes'])
    .select(['u.id', 'u.username', 'u.is_site_admin'])
    .where('s.hash', '=', tokenHash(cookie))
    .where('s.expires_at', '>', now)
    .where('u.suspended_at', 'is', null)
    .executeTakeFirst()
  const age = row && sessionAge(row, now)
  if (!age) return undefined
  if (now.getTime() - row.last_used_at.getTime() >= LAST_USED_INTERVAL_MS) {
    await app.db
      .updateTable('sessions')
      .set({ last_used_at: now, longest_idle_minutes: age.idleMinutes })
      .where('id', '=', row.session_id)
      .where('last_used_at', '=', row.last_used_at)
      .execute()
  }
  return { ...userActor(row, row.session_id), sessionAge: age }
}

type Session = Selectable<Schema['sessions']>
type SessionTimes = Pick<Session, 'created_at' | 'last_used_at' | 'idle_minutes' | 'longest_idle_minutes'>

/** The age of a session and its longest period without use; undefined if it was unused for too long. */
export function sessionAge(row: SessionTimes, now: Date): UserActor['sessionAge'] {
  const idleMs = now.getTime() - row.last_used_at.getTime()
  if (idleMs >= row.idle_minutes * 60_000) return undefined
  return {
    minutes: Math.floor((now.getTime() - row.created_at.getTime()) / 60_000),
    idleMinutes: Math.max(row.longest_idle_minutes, Math.floor(idleMs / 60_000)),
  }
}
