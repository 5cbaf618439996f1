import type { Db } from './db.ts'

/** The parts of what a row is found by. */
type Key = readonly string[]
type Batch<Row> = { keys: Map<string, Key>; found: Promise<(key: string) => Promise<Row | undefined>> }

/**
 * Finds a row by its key, with one query for all that are asked for while the process reads what came in. Nothing is
 * remembered: the query is sent after each of them has been asked for, so what is found is as fresh as by a query of its own.
 *
 * `load` answers each key in its place.
 */
export function batched<Row>(load: (db: Db, keys: readonly Key[]) => Promise<readonly (Row | undefined)[]>) {
  const open = new WeakMap<Db, Batch<Row>>()

  async function loadAll(db: Db, keys: ReadonlyMap<string, Key>) {
    const alone = async (name: string) => (await load(db, [keys.get(name) ?? []]))[0]
    try {
      const rows = await load(db, [...keys.values()])
      const byName = new Map([...keys.keys()].map((name, index) => [name, rows[index]]))
      return async (name: string) => byName.get(name)
    } catch (error) {
      // A key that the database refuses must not fail the others.
      if (keys.size > 1) return alone
      throw error
    }
  }

  function openBatch(db: Db): Batch<Row> {
    const keys = new Map<string, Key>()
    const found = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      open.delete(db)
      return loadAll(db, keys)
    })
    const batch = { keys, found }
    open.set(db, batch)
    return batch
  }

  return async (db: Db, key: Key): Promise<Row | undefined> => {
    const batch = open.get(db) ?? openBatch(db)
    const name = key.join('\0')
    batch.keys.set(name, key)
    return (await batch.found)(name)
  }
}
