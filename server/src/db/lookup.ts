import DataLoader from 'dataloader'
import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import { type Db, isTransaction } from './db.ts'
import { rowsOf, type Slots, template } from './template.ts'

type Query<Row> = OperationNodeSource & { readonly expressionType?: Row | undefined }

/**
 * Finds one row by its key, some named texts. The statement is compiled once, and sent once for all requests of one turn of the event loop,
 * since a statement costs more than its rows. `build` gets an SQL expression for each text and returns a query that selects at most one
 * row and depends only on them. Concurrent requests with the same key get the same object, which must not be changed.
 */
export function lookup<Name extends string, Row>(
  names: readonly Name[],
  build: (db: Db, texts: Record<Name, RawBuilder<string>>) => Query<Row>,
) {
  const texts = Object.fromEntries(names.map((name) => [name, sql.ref(`key.${name}`)]))
  const statement = template<readonly Key[], Row & { position: number }>((db, slot) =>
    queryOf(names, build(db, texts as Record<Name, RawBuilder<string>>), slot),
  )

  async function load(db: Db, keys: readonly Key[]) {
    const rows: (Row | undefined)[] = keys.map(() => undefined)
    for (const row of await rowsOf(db, statement(keys))) rows[row.position - 1] = row
    return rows
  }

  const find = batched(load)
  return async (db: Db, values: Record<Name, string>): Promise<Row | undefined> => {
    const key = names.map((name) => values[name])
    // A transaction has no concurrent requests.
    if (!isTransaction(db)) return find(db, key)
    const [row] = await load(db, [key])
    return row
  }
}

/** The query for several keys. The `offset` keeps PostgreSQL from scanning all rows before it looks for the keys. */
function queryOf<Row>(names: readonly string[], query: Query<Row>, slot: Slots<readonly Key[]>) {
  const texts = names.map((_, index) => sql`(select ${slot((keys) => keys.map((key) => key[index]))}::text[])`)
  const columns = sql.join([...names, 'position'].map((name) => sql.ref(name)))
  return sql<Row & { position: number }>`select match.*, key.position
    from unnest(${sql.join(texts)}) with ordinality as key (${columns})
    cross join lateral (select * from (${query}) one offset 0) match`
}

/** The texts that identify a row. */
type Key = readonly string[]

/**
 * Finds rows by key, with one query for all keys that are requested in one turn of the event loop. Nothing is cached: the query runs after
 * the requests, so its result is as fresh as that of a single query. `load` returns the row of each key at the key's index.
 */
export function batched<Row>(load: (db: Db, keys: readonly Key[]) => Promise<readonly (Row | undefined)[]>) {
  type Loader = DataLoader<Key, Row | undefined, string>
  const loaders = new WeakMap<Db, Loader>()

  async function loadAll(db: Db, keys: readonly Key[]) {
    try {
      return await load(db, keys)
    } catch (error) {
      if (keys.length === 1) throw error
      // A key that the database rejects must not fail the others.
      return Promise.all(keys.map(async (key) => load(db, [key]).then(([row]) => row, asError)))
    }
  }

  function loaderOf(db: Db) {
    const loader: Loader = new DataLoader(
      async (keys) => {
        // The cache only merges repeated keys of a batch.
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
