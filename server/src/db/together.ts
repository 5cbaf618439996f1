import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import type { Tx } from './db.ts'
import { readWithNext } from './later.ts'

/** A write, or one whose rows the others can select by its name. */
export type Write = OperationNodeSource | { name: string; write: OperationNodeSource }

/**
 * Sends several writes as one statement, together with the next statement of the transaction (`writeLater`). All writes see the database
 * as it was before, and their order is undefined: no two may touch the same row. Returns what reads the rows that `found` selects, to
 * be called once that next statement has been executed.
 */
export async function writeTogether<Row = unknown>(
  tx: Tx,
  writes: readonly Write[],
  found: RawBuilder<Row> = sql<Row>`select`,
): Promise<() => Promise<Row[]>> {
  const parts = writes.map((part, index) =>
    'name' in part ? sql`${sql.raw(part.name)} as (${part.write})` : sql`${sql.raw(`w${index}`)} as (${part})`,
  )
  const statement = parts.length === 0 ? found : sql<Row>`with ${sql.join(parts, sql`, `)} ${found}`
  const read = await readWithNext(tx, [statement])
  return async () => (await read())[0]
}
