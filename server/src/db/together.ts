import { type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import type { Tx } from './db.ts'

/**
 * Sends several writes as one statement, and so in one round trip, and then runs `last`. All writes see the database as
 * it was before, and their order is undefined: no two may touch the same row.
 */
export async function writeTogether(tx: Tx, writes: readonly OperationNodeSource[], last: RawBuilder<unknown>) {
  if (writes.length === 0) return last.execute(tx)
  const parts = writes.map((write, index) => sql`${sql.raw(`w${index}`)} as (${write})`)
  return sql`with ${sql.join(parts, sql`, `)} ${last}`.execute(tx)
}
