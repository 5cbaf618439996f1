import { randomUUID } from 'node:crypto'
import type { Change } from '@groundstate/contract/changes'
import type { Signals } from '../signals.ts'

/** Topic of the signals whose detail is a notice as JSON. */
export const CHANGE_TOPIC = 'change'

/** A change notice as servers send it to each other. */
export type Notice = Change & {
  /** The id of the organization. */
  organization: string
  /** Teams that may see the change, for changes whose team grants are not queried at delivery. */
  teams?: readonly string[]
}

/** A received notice. Its cursor is the same on every server, and shared by all notices that were sent together. */
export type SignalledChange = Notice & { cursor: string }

/** Number of changes kept for streams that resume, and of those that are evicted together. */
const RETAINED = 10_000
const EVICTED = 1_000

export type ChangeFeed = ReturnType<typeof createChangeFeed>

/** Recent changes, in the order in which all servers receive them. */
export function createChangeFeed(signals: Signals) {
  let changes: SignalledChange[] = []
  /** Sequence number of `changes[0]`. */
  let first = 0
  /** Sequence number of the first change with each cursor, in ascending order. */
  let positions = new Map<string, number>()
  let latest = ''
  const listeners = new Set<(change: SignalledChange) => void>()
  const gapListeners = new Set<() => void>()
  reset()

  function reset() {
    first += changes.length
    changes = []
    latest = randomUUID()
    positions = new Map([[latest, first]])
  }

  function add(change: SignalledChange) {
    if (change.cursor !== latest) {
      latest = change.cursor
      // A repeated cursor keeps its first position: changes in between are sent twice rather than never.
      if (!positions.has(latest)) positions.set(latest, first + changes.length)
    }
    changes.push(change)
    if (changes.length >= RETAINED + EVICTED) evict(EVICTED)
    for (const listener of listeners) listener(change)
  }

  function evict(count: number) {
    changes = changes.slice(count)
    first += count
    for (const [cursor, position] of positions) {
      if (position >= first) break
      positions.delete(cursor)
    }
  }

  const subscriptions = new DisposableStack()
  subscriptions.use(
    signals.listen(CHANGE_TOPIC, (detail, cursor) => add({ ...(JSON.parse(detail) as Notice), cursor })),
  )
  subscriptions.use(
    signals.onGap(() => {
      reset()
      for (const listener of gapListeners) listener()
    }),
  )

  return {
    /** Calls `listener` with each change until disposed. */
    listen: (listener: (change: SignalledChange) => void) => addTo(listeners, listener),
    /** Calls `listener` when changes may have been missed, until disposed. */
    onGap: (listener: () => void) => addTo(gapListeners, listener),
    /** A cursor after all changes so far. Every server that received the last of them knows it. */
    cursor: () => latest,
    /** Changes of an organization since the cursor, and possibly a few before; undefined for an expired or unknown cursor. */
    since(cursor: string, organizationId: string) {
      const position = positions.get(cursor)
      if (position === undefined) return undefined
      return changes.slice(position - first).filter(({ organization }) => organization === organizationId)
    },
    [Symbol.dispose]: () => subscriptions.dispose(),
  }
}

function addTo<T>(listeners: Set<T>, listener: T): Disposable {
  listeners.add(listener)
  return { [Symbol.dispose]: () => void listeners.delete(listener) }
}
