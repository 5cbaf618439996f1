import type { Ctx } from '../../../app.ts'
import { readAccessContext } from '../../../auth/access-context.ts'
import { organizationPermissions } from '../../../auth/organization-permissions.ts'
import type { SignalledChange } from '../../../changes/feed.ts'
import { sessionAge } from '../../../http/authenticate.ts'
import { type AccessSnapshot, accessSnapshot, mayRead, mayReadIn, permissionsIn } from './readers.ts'
import * as store from './store.ts'
import {
  type ChangeStream,
  type StreamActor,
  addPending,
  endStream,
  hasPending,
  resetStream,
  sendChanges,
  sendEvent,
} from './stream.ts'

/** Lifetime of access snapshots, in ms. Nothing is sent based on a snapshot older than 10 seconds. */
const SNAPSHOT_TTL_MS = 8000
const MAX_SNAPSHOT_AGE_MS = 10_000
/** Minimum interval between snapshots while access changes, in ms. */
const MIN_REFRESH_INTERVAL_MS = 500
/** Maximum number of workspaces whose permissions a stream caches. */
const MAX_CACHED_WORKSPACES = 2000

export function needsAccess({ readAt, isOutdated }: ChangeStream, now: number) {
  return now - readAt >= (isOutdated ? MIN_REFRESH_INTERVAL_MS : SNAPSHOT_TTL_MS)
}

/** Ends streams whose callers lost their access, and resets those whose permissions changed. */
export async function refreshAccess(ctx: Ctx, streams: readonly ChangeStream[]) {
  if (streams.length === 0) return
  const startedAt = performance.now()
  for (const stream of streams) stream.isOutdated = false
  try {
    const snapshots = await readAccessSnapshots(ctx, streams)
    for (const stream of streams) {
      const snapshot = snapshots.get(stream)
      if (!snapshot) {
        endStream(stream, { reason: 'signed-out' })
        continue
      }
      if (stream.snapshot && stream.snapshot.digest !== snapshot.digest) resetStream(stream)
      stream.snapshot = snapshot
      stream.readAt = startedAt
      stream.inWorkspaces.clear()
    }
  } catch (error) {
    for (const stream of streams) stream.isOutdated = true
    throw error
  }
}

/** The current access of each stream's caller; none for a stream that lost the access with which it was opened. */
async function readAccessSnapshots(ctx: Ctx, streams: readonly ChangeStream[]) {
  const now = ctx.now()
  const actors = streams.map(({ actor }) => actor)
  const sessionIds = actors.flatMap((actor) => (actor.kind === 'user' ? (actor.sessionId ?? []) : []))
  const tokenIds = actors.flatMap(({ tokenId }) => tokenId ?? [])
  // A user often has several streams.
  const members = new Map(streams.flatMap((stream) => memberOf(stream) ?? []).map((member) => [keyOf(member), member]))
  const [sessions, tokens, rows] = await Promise.all([
    sessionIds.length === 0 ? [] : store.listSessions(ctx.db, [...new Set(sessionIds)], now),
    tokenIds.length === 0 ? [] : store.listValidTokens(ctx.db, [...new Set(tokenIds)], now),
    store.listAccessRows(ctx.db, [...members.values()]),
  ])
  const sessionById = new Map(sessions.map((session) => [session.id, session]))
  const validTokens = new Set(tokens)
  const rowByMember = new Map(rows.map((row) => [keyOf(row), row]))

  function currentActor(actor: StreamActor): StreamActor | undefined {
    if (actor.tokenId !== undefined) return validTokens.has(actor.tokenId) ? actor : undefined
    const session = actor.kind === 'user' ? sessionById.get(actor.sessionId ?? '') : undefined
    const age = session && sessionAge(session, now)
    return age && actor.kind === 'user' ? { ...actor, sessionAge: age } : undefined
  }

  const snapshots = new Map<ChangeStream, AccessSnapshot>()
  for (const stream of streams) {
    const { organizationId } = stream
    const actor = currentActor(stream.actor)
    if (!actor) continue
    const member = memberOf(stream)
    const { access: column = null, teams = [], grants = '' } = (member && rowByMember.get(keyOf(member))) ?? {}
    const access = readAccessContext(actor, { organizationId, access: column })
    if (access.signInRequirement || !organizationPermissions(access).has('organization:read')) continue
    snapshots.set(stream, accessSnapshot(access, { teams, grants, column }))
  }
  return snapshots
}

function memberOf({ actor, organizationId }: ChangeStream): store.Member | undefined {
  return actor.kind === 'user' ? { userId: actor.userId, organizationId } : undefined
}

function keyOf({ userId, organizationId }: store.Member) {
  return `${userId} ${organizationId}`
}

type Batch = { stream: ChangeStream; changes: SignalledChange[]; cursor: string }

/** Sends each stream the changes that its caller may read. Changes of stalled streams remain queued. */
export async function deliverChanges(ctx: Ctx, streams: readonly ChangeStream[]) {
  const cursor = ctx.changes.cursor()
  const batches = streams
    .filter((stream) => hasPending(stream) && isReady(stream))
    .map((stream) => take(stream, cursor))
  try {
    await loadGrants(ctx, batches)
  } catch (error) {
    batches.forEach(putBack)
    throw error
  }
  for (const batch of batches) {
    // The access may have changed in the meantime.
    if (isReady(batch.stream)) send(batch)
    else putBack(batch)
  }
}

function isReady({ snapshot, stalledSince, readAt, isOutdated, readable }: ChangeStream) {
  const isCurrent = snapshot !== undefined && !isOutdated && performance.now() - readAt < MAX_SNAPSHOT_AGE_MS
  return isCurrent && stalledSince === undefined && !readable.destroyed
}

function take(stream: ChangeStream, cursor: string): Batch {
  const changes = [...stream.pending.values()]
  stream.pending.clear()
  return { stream, changes, cursor }
}

function putBack({ stream, changes }: Batch) {
  for (const change of changes) addPending(stream, change)
}

function send({ stream, changes, cursor }: Batch) {
  if (stream.isReset) {
    stream.isReset = false
    return sendEvent(stream, 'reset', cursor)
  }
  const visible = changes.filter((change) => isVisible(stream, change))
  return visible.length > 0 ? sendChanges(stream, visible, cursor) : undefined
}

function isVisible({ snapshot, inWorkspaces }: ChangeStream, change: SignalledChange) {
  const result = snapshot ? mayRead(snapshot, change) : false
  if (result !== 'ask') return result
  const permissions = inWorkspaces.get(change.workspace ?? '')
  return permissions !== undefined && mayReadIn(permissions, change)
}

/** Loads in one statement the callers' permissions in the workspaces of the changes. */
async function loadGrants(ctx: Ctx, batches: readonly Batch[]) {
  const missing = batches.flatMap(({ stream: { actor, snapshot, inWorkspaces }, changes }) => {
    if (actor.kind !== 'user' || !snapshot) return []
    const { userId } = actor
    const workspaceIds = new Set(
      changes
        .filter((change) => mayRead(snapshot, change) === 'ask' && !inWorkspaces.has(change.workspace ?? ''))
        .map(({ workspace = '' }) => workspace),
    )
    return [...workspaceIds].map((workspaceId) => ({
      key: `${userId} ${workspaceId}`,
      userId,
      workspaceId,
      snapshot,
      inWorkspaces,
    }))
  })
  if (missing.length === 0) return
  const rows = await store.listGrants(ctx.db, [...new Map(missing.map((pair) => [pair.key, pair])).values()])
  const grants = new Map(rows.map((row) => [`${row.userId} ${row.workspaceId}`, row.grants]))
  for (const { inWorkspaces } of missing) if (inWorkspaces.size > MAX_CACHED_WORKSPACES) inWorkspaces.clear()
  for (const { key, workspaceId, snapshot, inWorkspaces } of missing) {
    const column = grants.get(key)
    inWorkspaces.set(workspaceId, column === undefined ? new Set() : permissionsIn(snapshot, column))
  }
}
