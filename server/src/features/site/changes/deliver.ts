import type { Ctx } from '../../../app.ts'
import type { SignalledChange } from '../../../changes/feed.ts'
import { readAccessSnapshots } from './access-snapshots.ts'
import { mayRead, mayReadIn, permissionsIn } from './readers.ts'
import * as store from './store.ts'
import { type ChangeStream, addPending, resetStream, endStream, hasNews, sendChanges, sendSign } from './stream.ts'

/** Lifetime of access snapshots, in ms. Nothing is sent based on a snapshot older than 10 seconds. */
const KNOWN_MS = 8000
const STALE_MS = 10_000
/** After a change of access it is read again at once, but no more often than this, in ms. */
const SUSPECT_MS = 500
/** Maximum number of workspaces whose permissions a stream caches. */
const KNOWN_WORKSPACES = 2000

/** Whether it must be read again what the caller of a stream may read. */
export function isDue({ readAt, isSuspect }: ChangeStream, now: number) {
  return now - readAt >= (isSuspect ? SUSPECT_MS : KNOWN_MS)
}

/** Ends streams whose callers lost their access, and resets those whose permissions changed. */
export async function readRights(ctx: Ctx, streams: readonly ChangeStream[]) {
  if (streams.length === 0) return
  const startedAt = performance.now()
  for (const stream of streams) stream.isSuspect = false
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
    for (const stream of streams) stream.isSuspect = true
    throw error
  }
}

/** Changes for a stream, up to a cursor. */
type Batch = { stream: ChangeStream; changes: SignalledChange[]; cursor: string }

/** Sends each stream the changes that its caller may read. Blocked streams keep theirs queued. */
export async function deliverChanges(ctx: Ctx, streams: readonly ChangeStream[]) {
  const cursor = ctx.changes.cursor()
  const batches = streams.filter((stream) => hasNews(stream) && isReady(stream)).map((stream) => take(stream, cursor))
  try {
    await askGrants(ctx, batches)
  } catch (error) {
    batches.forEach(putBack)
    throw error
  }
  for (const batch of batches) {
    // Its rights may have changed meanwhile.
    if (isReady(batch.stream)) send(batch)
    else putBack(batch)
  }
}

function isReady({ snapshot, stuckSince, readAt, isSuspect, readable }: ChangeStream) {
  const isKnown = snapshot !== undefined && !isSuspect && performance.now() - readAt < STALE_MS
  return isKnown && stuckSince === undefined && !readable.destroyed
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
    return sendSign(stream, 'reset', cursor)
  }
  const visible = changes.filter((change) => isVisible(stream, change))
  return visible.length > 0 ? sendChanges(stream, visible, cursor) : undefined
}

function mustAsk({ snapshot, inWorkspaces }: ChangeStream, change: SignalledChange) {
  return snapshot && mayRead(snapshot, change) === 'ask' && !inWorkspaces.has(change.workspace ?? '')
}

function isVisible({ snapshot, inWorkspaces }: ChangeStream, change: SignalledChange) {
  const known = snapshot ? mayRead(snapshot, change) : false
  if (known !== 'ask') return known
  const permissions = inWorkspaces.get(change.workspace ?? '')
  return permissions !== undefined && mayReadIn(permissions, change)
}

/** Asks in one statement what the callers may do in the workspaces in which something has changed. */
async function askGrants(ctx: Ctx, batches: readonly Batch[]) {
  const asked = batches.flatMap(({ stream, changes }) => {
    const workspaceIds = changes.flatMap((change) => (mustAsk(stream, change) ? (change.workspace ?? '') : []))
    return workspaceIds.length === 0 ? [] : [{ stream, workspaceIds: [...new Set(workspaceIds)] }]
  })
  const pairs = asked.flatMap(({ stream: { actor }, workspaceIds }) =>
    actor.kind === 'user' ? workspaceIds.map((workspaceId) => ({ userId: actor.userId, workspaceId })) : [],
  )
  if (pairs.length === 0) return
  const distinct = new Map(pairs.map((pair) => [grantKey(pair), pair]))
  const rows = await store.listGrants(ctx.db, [...distinct.values()])
  const grants = new Map(rows.map((row) => [grantKey(row), row.grants]))
  for (const { stream, workspaceIds } of asked) {
    const { actor, snapshot, inWorkspaces } = stream
    if (actor.kind !== 'user' || !snapshot) continue
    if (inWorkspaces.size > KNOWN_WORKSPACES) inWorkspaces.clear()
    for (const workspaceId of workspaceIds) {
      const found = grants.get(grantKey({ userId: actor.userId, workspaceId }))
      inWorkspaces.set(workspaceId, found === undefined ? new Set() : permissionsIn(snapshot, found))
    }
  }
}

function grantKey({ userId, workspaceId }: { userId: string; workspaceId: string }) {
  return `${userId} ${workspaceId}`
}
