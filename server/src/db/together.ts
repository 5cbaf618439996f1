import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import type { Tx } from './db.ts'
import { readWithNext } from './later.ts'

/**
 * Sends several writes as one statement, together with the next statement of the transaction (`writeLater`). All writes see the database
 * as it was before, and their order is undefined: no two may touch the same row. Returns what reads the rows that `found` selects, to
 * be called once that next statement has been executed.
 */
export async function writeTogether<Row = unknown>(
  tx: Tx,
  writes: readonly OperationNodeSource[],
  found: RawBuilder<Row> = sql<Row>`select`,
): Promise<() => Promise<Row[]>> {
  const parts = writes.map((write, index) => sql`${sql.raw(`w${index}`)} as (${write})`)
  const statement = parts.length === 0 ? found : sql<Row>`with ${sql.join(parts, sql`, `)} ${found}`
  const read = await readWithNext(tx, [statement])
  return async () => (await read())[0]
}
