import type { Db } from './db.ts'

type Batch<Row> = { keys: Set<string>; found: Promise<ReadonlyMap<string, Row>> }

/**
 * Finds a row by its key, with one query for all that are asked for while the process reads what came in. Nothing is
 * remembered: the query is sent after each of them has been asked for, so what is found is as fresh as by a query of its own.
 */
export function batched<Row>(load: (db: Db, keys: readonly string[]) => Promise<ReadonlyMap<string, Row>>) {
  const open = new WeakMap<Db, Batch<Row>>()

  function openBatch(db: Db): Batch<Row> {
    const keys = new Set<string>()
    const found = new Promise<void>((resolve) => setImmediate(resolve)).then(() => {
      open.delete(db)
      return load(db, [...keys])
    })
    const batch = { keys, found }
    open.set(db, batch)
    return batch
  }

  return async (db: Db, key: string): Promise<Row | undefined> => {
    const batch = open.get(db) ?? openBatch(db)
    batch.keys.add(key)
    return (await batch.found).get(key)
  }
}
