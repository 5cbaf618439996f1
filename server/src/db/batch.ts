import DataLoader from 'dataloader'
import type { Db } from './db.ts'

/** The parts of what a row is found by. */
type Key = readonly string[]
type Loader<Row> = DataLoader<Key, Row | undefined, string>

/**
 * Finds a row by its key, with one query for all that are asked for while the process reads what came in. Nothing is
 * remembered: the query is sent after each of them has been asked for, so what is found is as fresh as by a query of its own.
 *
 * `load` answers each key in its place.
 */
export function batched<Row>(load: (db: Db, keys: readonly Key[]) => Promise<readonly (Row | undefined)[]>) {
  const loaders = new WeakMap<Db, Loader<Row>>()

  async function loadAll(db: Db, keys: readonly Key[]) {
    try {
      return await load(db, keys)
    } catch (error) {
      if (keys.length === 1) throw error
      // A key that the database refuses must not fail the others.
      return Promise.all(keys.map(async (key) => load(db, [key]).then(([row]) => row, asError)))
    }
  }

  function loaderOf(db: Db) {
    const loader: Loader<Row> = new DataLoader(
      async (keys) => {
        // Until here the loader knows which keys have been asked for already, and asks for each once.
        loader.clearAll()
        return loadAll(db, keys)
      },
      { batchScheduleFn: setImmediate, cacheKeyFn: (key) => key.join('\0') },
    )
    loaders.set(db, loader)
    return loader
  }

  return async (db: Db, key: Key): Promise<Row | undefined> => (loaders.get(db) ?? loaderOf(db)).load(key)
}

function asError(reason: unknown) {
  return reason instanceof Error ? reason : new Error(String(reason))
}
