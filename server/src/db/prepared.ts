import { LRUCache } from 'lru-cache'

/**
 * The maximum of prepared statements for a connection. Each takes about 130 KB of the database's memory on each of the
 * pool's connections; sixty cover nearly all calls of a server that works on runs
 * (docs/decisions/prepared-statements.md).
 */
export const MAX_PREPARED = 64

/**
 * Statements that were run lately, on any connection. Preparing a statement that runs once costs more than it saves.
 */
const seen = new LRUCache<string, true>({ max: 1000 })

type Parser = (text: string) => unknown

/** How to read the rows of a statement; `blank` is an empty row to copy. */
export type Shape = { names: string[]; parsers: Parser[]; blank: Record<string, unknown> }

/** A name for a prepared statement in the database. Without a shape, it still has to be prepared there. */
export type Place = { name: string; shape: Shape | undefined }

/** The places of prepared statements. */
export type Places = { placeOf: (text: string) => Place }

/** For connections that keep none: each statement is prepared for one execution, in the same round trip. */
export const UNPREPARED: Places = { placeOf: () => ({ name: '', shape: undefined }) }

/** The statements that a connection keeps prepared: the most recently used of the repeated ones. */
export class PreparedStatements implements Places {
  #places = new LRUCache<string, Place>({ max: MAX_PREPARED })

  /** The place of a statement. A new statement gets the unnamed place, which the next one overwrites. */
  placeOf(text: string): Place {
    const known = this.#places.get(text)
    if (known) return known
    if (!seen.get(text)) {
      seen.set(text, true)
      return { name: '', shape: undefined }
    }
    const place = { name: this.#freeName(), shape: undefined }
    this.#places.set(text, place)
    return place
  }

  /** A free name; when all are taken, that of the least recently used statement. */
  #freeName() {
    const { size, max } = this.#places
    const evicted = size < max ? undefined : this.#places.pop()
    return evicted?.name ?? `s${size}`
  }
}
