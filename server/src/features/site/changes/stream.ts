import { Readable } from 'node:stream'
import type { End } from '@groundstate/contract/changes'
import type { OrganizationActor, UserActor } from '../../../auth/actor.ts'
import type { WorkspacePermission } from '../../../auth/permissions.ts'
import type { SignalledChange } from '../../../changes/feed.ts'
import type { AccessSnapshot } from './readers.ts'

export type StreamActor = UserActor | OrganizationActor

/** An open stream. Times are those of `performance.now()`, in ms. */
export type ChangeStream = {
  actor: StreamActor
  organizationId: string
  /** The user whose limit counts the stream. */
  personId: string
  readable: Readable
  /** Unsent changes, without duplicates. */
  pending: Map<string, SignalledChange>
  /** The client will be reset, because there are too many changes or some are unknown. */
  isReset: boolean
  cursor: string | undefined
  snapshot: AccessSnapshot | undefined
  readAt: number
  /** Access may have been revoked since then. */
  isOutdated: boolean
  /** The caller's permissions by workspace, as far as they were read since the snapshot. */
  inWorkspaces: Map<string, ReadonlySet<WorkspacePermission>>
  /** Since when the client has not read everything that was sent; undefined otherwise. */
  stalledSince: number | undefined
  sentAt: number
}

/** The caller of a stream and the organization that it watches. */
export type Watched = Pick<ChangeStream, 'actor' | 'organizationId' | 'personId'>

/** A client with more changes than this is reset instead. */
const MAX_PENDING = 500
const BUFFERED_BYTES = 64 * 1024
/** Delay after which clients reconnect, in ms. */
const RETRY_MS = 2000

/** Creates a stream. `onRead` is called when a stalled client has read everything that was sent. */
export function newStream(watched: Watched, onRead: () => void): ChangeStream {
  const readable = new Readable({
    highWaterMark: BUFFERED_BYTES,
    read() {
      if (stream.stalledSince === undefined) return
      stream.stalledSince = undefined
      onRead()
    },
  })
  const stream: ChangeStream = {
    ...watched,
    readable,
    pending: new Map(),
    isReset: false,
    cursor: undefined,
    snapshot: undefined,
    readAt: -Infinity,
    isOutdated: false,
    inWorkspaces: new Map(),
    stalledSince: undefined,
    sentAt: performance.now(),
  }
  send(stream, `retry: ${RETRY_MS}\n\n`)
  return stream
}

export function addPending(stream: ChangeStream, change: SignalledChange) {
  if (stream.isReset) return
  if (stream.pending.size >= MAX_PENDING) return resetStream(stream)
  stream.pending.set(keyOf(change), change)
}

/** Changes with the same key are sent once. Keys may be long and are equal for all streams. */
const keyOf = memoised(({ type, id, workspace = '', teams }) => `${type} ${id} ${workspace} ${teams?.join() ?? ''}`)
const dataOf = memoised(({ type, id, workspace, run, pool }) => JSON.stringify({ type, id, workspace, run, pool }))

function memoised(compute: (change: SignalledChange) => string) {
  const results = new WeakMap<SignalledChange, string>()
  return (change: SignalledChange) => {
    const result = results.get(change) ?? compute(change)
    results.set(change, result)
    return result
  }
}

export function resetStream(stream: ChangeStream) {
  stream.isReset = true
  stream.pending.clear()
}

export function hasPending({ pending, isReset }: ChangeStream) {
  return isReset || pending.size > 0
}

/** Sends changes. Only the last one advances the client's cursor, since the connection may fail after any of them. */
export function sendChanges(stream: ChangeStream, changes: readonly SignalledChange[], cursor: string) {
  const lines = changes.map((change, index) => {
    const id = index === changes.length - 1 ? cursor : stream.cursor
    return `event: change\n${id === undefined ? '' : `id: ${id}\n`}data: ${dataOf(change)}\n\n`
  })
  stream.cursor = cursor
  send(stream, lines.join(''))
}

/** `ready`: changes after the cursor follow. `reset`: everything shown may be stale. `alive`: advances the cursor past other changes. */
export function sendEvent(stream: ChangeStream, event: 'ready' | 'reset' | 'alive', cursor: string | undefined) {
  stream.cursor = cursor
  // A comment, which proxies and line-based clients recognise.
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
  if (!readable.push(text)) stream.stalledSince ??= now
}
