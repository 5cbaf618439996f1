import { randomUUID } from 'node:crypto'
import type { Change } from '@groundstate/contract/changes'
import type { Signals } from '../signals.ts'

/** The topic of the signals that carry a notice as JSON. */
export const CHANGE_TOPIC = 'change'

/** A change notice as servers send it to each other. */
export type Notice = Change & {
  /** The id of the organization. */
  organization: string
  /** Teams that may see it, where team grants decide and are not looked up at delivery. */
  teams?: readonly string[]
}

/** A notice as it was received. The cursor is the same on every server, and that of all notices that were sent together. */
export type SignalledChange = Notice & { cursor: string }

/** As many changes are kept for streams that resume. */
const KEPT = 10_000

/** Recent changes, in the order in which all servers receive them. */
export type ChangeFeed = {
  /** Calls `listener` with each change, until it is disposed of. */
  listen(listener: (change: SignalledChange) => void): Disposable
  /** Calls `listener` when changes may have been missed, until it is disposed of. */
  onGap(listener: () => void): Disposable
  /** A cursor after all changes so far. Every server that received the last of them knows it. */
  cursor(): string
  /** The changes of an organization from the cursor on, and maybe some before; undefined for a cursor that is too old, or unknown here. */
  since(cursor: string, organizationId: string): SignalledChange[] | undefined
} & Disposable

export function createChangeFeed(signals: Signals): ChangeFeed {
  let kept: SignalledChange[] = []
  /** The number of the first change that is kept; changes are numbered in the order in which they come. */
  let first = 0
  /** The number of the first change with each cursor. */
  let places = new Map<string, number>()
  let latest = ''
  const listeners = new Set<(change: SignalledChange) => void>()
  const gapListeners = new Set<() => void>()
  beginAnew()

  function beginAnew() {
    first += kept.length
    kept = []
    latest = randomUUID()
    places = new Map([[latest, first]])
  }

  function add(change: SignalledChange) {
    if (change.cursor !== latest) {
      latest = change.cursor
      // A repeated cursor keeps its first position: changes in between are sent twice rather than never.
      if (!places.has(latest)) places.set(latest, first + kept.length)
    }
    kept.push(change)
    if (kept.length >= 2 * KEPT) drop(KEPT)
    for (const listener of listeners) listener(change)
  }

  function drop(count: number) {
    kept = kept.slice(count)
    first += count
    // They are in the order of their numbers.
    for (const [cursor, number] of places) {
      if (number >= first) break
      places.delete(cursor)
    }
  }

  const subscriptions = [
    signals.listen(CHANGE_TOPIC, (detail, cursor) => add({ ...(JSON.parse(detail) as Notice), cursor })),
    signals.onGap(() => {
      beginAnew()
      for (const listener of gapListeners) listener()
    }),
  ]

  return {
    listen(listener) {
      listeners.add(listener)
      return { [Symbol.dispose]: () => void listeners.delete(listener) }
    },
    onGap(listener) {
      gapListeners.add(listener)
      return { [Symbol.dispose]: () => void gapListeners.delete(listener) }
    },
    cursor: () => latest,
    since(cursor, organizationId) {
      const from = places.get(cursor)
      if (from === undefined) return undefined
      return kept.slice(from - first).filter(({ organization }) => organization === organizationId)
    },
    [Symbol.dispose]() {
      for (const subscription of subscriptions) subscription[Symbol.dispose]()
    },
  }
}
