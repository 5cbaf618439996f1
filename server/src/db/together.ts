import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import type { Tx } from './db.ts'
import { writeLater } from './later.ts'

/**
 * Sends several writes and `last` as one statement, together with the next statement of the transaction (`writeLater`). All writes
 * see the database as it was before, and their order is undefined: no two may touch the same row.
 */
export async function writeTogether(tx: Tx, writes: readonly OperationNodeSource[], last: RawBuilder<unknown>) {
  if (writes.length === 0) return writeLater(tx, last)
  const parts = writes.map((write, index) => sql`${sql.raw(`w${index}`)} as (${write})`)
  return writeLater(tx, sql`with ${sql.join(parts, sql`, `)} ${last}`)
}
