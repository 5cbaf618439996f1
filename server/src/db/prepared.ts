import { LRUCache } from 'lru-cache'

/**
 * How many statements a connection keeps prepared. One takes about 130 KB of the database's memory on each of the pool's
 * connections; sixty make up nearly all calls of a server that works on runs (docs/decisions/prepared-statements.md).
 */
export const MAX_PREPARED = 100

/** Texts that have been run lately, on any connection. Preparing what is run once costs more than it saves. */
const seen = new LRUCache<string, true>({ max: 1000 })

type Parser = (text: string) => unknown

/** How the rows of a statement are read; `blank` is a row without values, to be copied. */
export type Shape = { names: string[]; parsers: Parser[]; blank: Record<string, unknown> }

/** A place for a statement in the database. Without a shape, the statement has yet to be prepared there. */
export type Place = { name: string; shape: Shape | undefined }

/** Which statements one connection keeps prepared: of those that are run repeatedly, the ones that were run last. */
export class PreparedStatements {
  #places = new LRUCache<string, Place>({ max: MAX_PREPARED })

  /** The place of a statement. A new text gets the nameless place, which the next one overwrites. */
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

  /** Once all are taken, the name of the statement that has not been run for longest. */
  #freeName() {
    const { size, max } = this.#places
    const evicted = size < max ? undefined : this.#places.pop()
    return evicted?.name ?? `s${size}`
  }
}
