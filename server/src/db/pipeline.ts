import { type CompiledQuery, type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import { type Db, type Tx, isTransaction } from './db.ts'
import type { DeferredQuery } from './pool.ts'
import type { StatementResult } from './statement.ts'

/*
 * Statements of a transaction that wait for the next one of it, or for its end, and are sent with that. So a transaction takes as
 * many round trips as it has answers to wait for, and not one for each statement.
 */

async function defer(tx: Tx, query: CompiledQuery, receive: DeferredQuery['receive'] = () => {}) {
  const deferred: DeferredQuery = { ...query, receive }
  await tx.executeQuery(deferred)
}

type Query<Row> = { compile: (db: Db) => CompiledQuery<Row> }

/**
 * Sends a write with the next statement of its transaction, at the latest with the commit. When the write fails, that next statement
 * fails with its error, and so does the transaction: only for writes whose failure no one handles and whose result no one reads.
 */
export async function deferWrite(tx: Tx, query: Query<unknown>) {
  await defer(tx, query.compile(tx))
}

type Queries = readonly Query<unknown>[]
type Rows<List extends Queries> = {
  -readonly [Index in keyof List]: List[Index] extends Query<infer Row> ? Row[] : never
}

/**
 * Executes queries of a transaction one after the other in one round trip, and returns the rows of each. Each sees what those before it
 * have locked and changed. Outside of a transaction they are executed side by side.
 */
export async function pipeline<const List extends Queries>(db: Db, queries: List): Promise<Rows<List>> {
  if (!isTransaction(db)) return sideBySide(db, queries)
  const last = queries.at(-1)
  if (last === undefined) return [] as unknown as Rows<List>
  const readEarlier = await sendWithNext(db, queries.slice(0, -1))
  const { rows } = await db.executeQuery(last.compile(db))
  return [...(await readEarlier()), rows] as unknown as Rows<List>
}

/**
 * Sends queries of a transaction with its next statement. Returns what reads the rows of each, to be called once that statement has
 * been executed. Outside of a transaction they are executed at once, side by side.
 */
export async function readWithNext<const List extends Queries>(
  db: Db,
  queries: List,
): Promise<() => Promise<Rows<List>>> {
  if (isTransaction(db)) return (await sendWithNext(db, queries)) as () => Promise<Rows<List>>
  const rows = await sideBySide(db, queries)
  return async () => rows
}

async function sendWithNext(tx: Tx, queries: Queries): Promise<() => Promise<unknown[][]>> {
  const waiting: Promise<StatementResult>[] = []
  for (const query of queries) await defer(tx, query.compile(tx), (result) => waiting.push(result))
  return async () => {
    if (waiting.length < queries.length) throw new Error('the statement that these queries wait for was not sent')
    const responses = await Promise.all(waiting)
    return responses.map(({ rows }) => rows)
  }
}

async function sideBySide<const List extends Queries>(db: Db, queries: List): Promise<Rows<List>> {
  const responses = await Promise.all(queries.map(async (query) => db.executeQuery(query.compile(db))))
  return responses.map(({ rows }) => rows) as Rows<List>
}

/** A write, or one whose rows the others can select by its name. */
type Write = OperationNodeSource | { name: string; write: OperationNodeSource }

/**
 * Sends several writes as one statement, together with the next statement of the transaction (`writeLater`). All writes see the database
 * as it was before, and their order is undefined: no two may touch the same row. Returns what reads the rows that `found` selects, to
 * be called once that next statement has been executed.
 */
export async function writeBatch<Row = unknown>(
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
