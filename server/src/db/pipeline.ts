import { type CompiledQuery, type OperationNodeSource, type RawBuilder, sql } from 'kysely'
import { type Db, type Tx, isTransaction } from './db.ts'
import type { DeferredQuery } from './pool.ts'
import type { StatementResult } from './statement.ts'
import type { Query } from './template.ts'

/*
 * Deferred statements of a transaction are sent with its next statement or its end. So a transaction takes one round trip for each result that it
 * waits for, not one for each statement.
 */

async function defer(tx: Tx, query: CompiledQuery, receive: DeferredQuery['receive'] = () => {}) {
  await tx.executeQuery({ ...query, receive } as DeferredQuery)
}

/**
 * Defers a write to the next statement of its transaction, or the commit. If the write fails, that statement fails with its error, and so does the
 * transaction. So the caller must not handle a failure or need the result.
 */
export async function deferWrite(tx: Tx, query: Query<unknown>) {
  await defer(tx, query.compile(tx))
}

type Queries = readonly Query<unknown>[]
type Rows<List extends Queries> = {
  -readonly [Index in keyof List]: List[Index] extends Query<infer Row> ? Row[] : never
}

/**
 * Executes queries of a transaction in order, in one round trip, and returns the rows of each. Each sees the locks and changes of those
 * before it. Outside of a transaction they run concurrently.
 */
export async function pipeline<const List extends Queries>(db: Db, queries: List): Promise<Rows<List>> {
  if (!isTransaction(db)) return concurrently(db, queries)
  const last = queries.at(-1)
  if (last === undefined) return [] as unknown as Rows<List>
  const readEarlier = await sendWithNext(db, queries.slice(0, -1))
  const { rows } = await db.executeQuery(last.compile(db))
  return [...(await readEarlier()), rows] as unknown as Rows<List>
}

/**
 * Sends queries of a transaction with its next statement. Returns a function that resolves to the rows of each, to be called after that
 * statement. Outside of a transaction they run immediately and concurrently.
 */
export async function readWithNext<const List extends Queries>(
  db: Db,
  queries: List,
): Promise<() => Promise<Rows<List>>> {
  if (isTransaction(db)) return (await sendWithNext(db, queries)) as () => Promise<Rows<List>>
  const rows = await concurrently(db, queries)
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

async function concurrently<const List extends Queries>(db: Db, queries: List): Promise<Rows<List>> {
  const responses = await Promise.all(queries.map(async (query) => db.executeQuery(query.compile(db))))
  return responses.map(({ rows }) => rows) as Rows<List>
}

/** A write, or a named one whose rows the final query can select. */
type Write = OperationNodeSource | { name: string; write: OperationNodeSource }

/**
 * Sends several writes as one deferred statement. All of them see the database as it was before, and their order is undefined, so no two may
 * change the same row. Returns a function that resolves to the rows of `result`, to be called after the next statement.
 */
export async function writeBatch<Row = unknown>(
  tx: Tx,
  writes: readonly Write[],
  result: RawBuilder<Row> = sql<Row>`select`,
): Promise<() => Promise<Row[]>> {
  const parts = writes.map((part, index) =>
    'name' in part ? sql`${sql.raw(part.name)} as (${part.write})` : sql`${sql.raw(`w${index}`)} as (${part})`,
  )
  const statement = parts.length === 0 ? result : sql<Row>`with ${sql.join(parts, sql`, `)} ${result}`
  const read = await readWithNext(tx, [statement])
  return async () => (await read())[0]
}
