import { Readable } from 'node:stream'
import type { End } from '@groundstate/contract/changes'
import type { OrganizationActor, UserActor } from '../../../auth/actor.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import type { SignalledChange } from '../../../changes/feed.ts'
import type { AccessSnapshot } from './readers.ts'

export type StreamActor = UserActor | OrganizationActor

/** One open stream. Times are in ms of the process. */
export type ChangeStream = {
  actor: StreamActor
  organizationId: string
  readable: Readable
  /** Changes that were not sent yet, without duplicates. */
  pending: Map<string, SignalledChange>
  /** More changed than is kept, or it is unknown what changed: the client will be reset. */
  isReset: boolean
  /** The cursor that the client has. */
  cursor: string | undefined
  snapshot: AccessSnapshot | undefined
  readAt: number
  /** Access may have been revoked since the snapshot was read. */
  isSuspect: boolean
  /** The caller's permissions in workspaces, as far as they were read since the snapshot. */
  inWorkspaces: Map<string, ReadonlySet<WorkspacePermission>>
  /** Since when the client reads slower than it is sent to; undefined while it does not. */
  stuckSince: number | undefined
  sentAt: number
}

/** More than this are not kept for a client; it reads its page again instead. */
const MAX_PENDING = 500
const BUFFERED_BYTES = 64 * 1024
/** How long clients wait before they connect again, in ms. */
const RETRY_MS = 2000

/** Creates a stream. `onRead` is called when its client has read everything that was sent. */
export function newStream(
  { actor, organizationId }: Pick<ChangeStream, 'actor' | 'organizationId'>,
  onRead: (stream: ChangeStream) => void,
): ChangeStream {
  const readable = new Readable({
    highWaterMark: BUFFERED_BYTES,
    read() {
      if (stream.stuckSince === undefined) return
      stream.stuckSince = undefined
      onRead(stream)
    },
  })
  const stream: ChangeStream = {
    actor,
    organizationId,
    readable,
    pending: new Map(),
    isReset: false,
    cursor: undefined,
    snapshot: undefined,
    readAt: -Infinity,
    isSuspect: false,
    inWorkspaces: new Map(),
    stuckSince: undefined,
    sentAt: performance.now(),
  }
  send(stream, `retry: ${RETRY_MS}\n\n`)
  return stream
}

/** Keeps a change until it is sent. */
export function addPending(stream: ChangeStream, change: SignalledChange) {
  if (stream.isReset) return
  if (stream.pending.size >= MAX_PENDING) return resetStream(stream)
  stream.pending.set(keyOf(change), change)
}

/** The key of a change is the same for everybody, and may be long. */
const keys = new WeakMap<SignalledChange, string>()

/** Changes with the same key are sent once. */
function keyOf(change: SignalledChange) {
  const known = keys.get(change)
  if (known !== undefined) return known
  const { type, id, workspace = '', teams } = change
  const key = `${type} ${id} ${workspace} ${teams?.join() ?? ''}`
  keys.set(change, key)
  return key
}

/** Resets the client at the next delivery. */
export function resetStream(stream: ChangeStream) {
  stream.isReset = true
  stream.pending.clear()
}

export function hasNews({ pending, isReset }: ChangeStream) {
  return isReset || pending.size > 0
}

/** Sends changes. Only the last one moves the client's cursor: the connection may be lost after any of them. */
export function sendChanges(stream: ChangeStream, changes: readonly SignalledChange[], cursor: string) {
  const lines = changes.map((change, index) => {
    const id = index === changes.length - 1 ? cursor : stream.cursor
    return `event: change\n${id === undefined ? '' : `id: ${id}\n`}data: ${dataOf(change)}\n\n`
  })
  stream.cursor = cursor
  send(stream, lines.join(''))
}

/**
 * `ready`: changes follow from the cursor on. `reset`: also, everything shown may be stale. `alive`: nothing was sent for a while, and
 * the cursor moves on with the changes elsewhere.
 */
export function sendSign(stream: ChangeStream, event: 'ready' | 'reset' | 'alive', cursor: string | undefined) {
  stream.cursor = cursor
  // Proxies and programs that look at lines know a comment.
  const comment = event === 'alive' ? ': alive\n' : ''
  send(stream, `${comment}event: ${event}\n${cursor === undefined ? '' : `id: ${cursor}\n`}data: {}\n\n`)
}

export function endStream(stream: ChangeStream, end?: End) {
  if (stream.readable.destroyed) return
  if (end) stream.readable.push(`event: end\ndata: ${JSON.stringify(end)}\n\n`)
  stream.readable.push(null)
}

function send(stream: ChangeStream, text: string) {
  const { readable } = stream
  if (readable.destroyed || readable.readableEnded) return
  const now = performance.now()
  stream.sentAt = now
  if (!readable.push(text)) stream.stuckSince ??= now
}

/** The data of a change is the same for everybody. */
const data = new WeakMap<SignalledChange, string>()

function dataOf(change: SignalledChange) {
  const known = data.get(change)
  if (known !== undefined) return known
  const { type, id, workspace, run, pool } = change
  const text = JSON.stringify({ type, id, workspace, run, pool })
  data.set(change, text)
  return text
}
