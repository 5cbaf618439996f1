import DataLoader from 'dataloader'
import type { Db } from './db.ts'

/** The values that identify a row. */
type Key = readonly string[]
type Loader<Row> = DataLoader<Key, Row | undefined, string>

/**
 * Finds rows by key, with one query for all keys that are requested while the process handles one batch of input.
 * Nothing is cached: the query runs after all of the requests, so its result is as fresh as that of a single query.
 *
 * `load` returns the row of each key at the key's index.
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
        // Until this point, the loader merges repeated keys.
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
