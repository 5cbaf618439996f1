import type { CompiledQuery } from 'kysely'
import { type Db, isTransaction, type Tx } from './db.ts'
import type { StatementResult } from './statement.ts'
import { markWaiting } from './waiting.ts'

/*
 * Statements of a transaction that wait for the next one of it, or for its end, and are sent with that. So a transaction takes as
 * many round trips as it has answers to wait for, and not one for each statement.
 */

async function waitForNext(tx: Tx, query: CompiledQuery, receive: Parameters<typeof markWaiting>[1]) {
  const parameters = [...query.parameters]
  markWaiting(parameters, receive)
  await tx.executeQuery({ ...query, parameters })
}

type Query<Row> = { compile: (db: Db) => CompiledQuery<Row> }

/**
 * Sends a write with the next statement of its transaction, at the latest with the commit. When the write fails, that next statement
 * fails with its error, and so does the transaction: only for writes whose failure nobody handles and whose result nobody reads.
 */
export async function writeLater(tx: Tx, query: Query<unknown>) {
  await waitForNext(tx, query.compile(tx), () => {})
}

type Queries = readonly Query<unknown>[]
type Rows<List extends Queries> = {
  -readonly [Index in keyof List]: List[Index] extends Query<infer Row> ? Row[] : never
}

/**
 * Executes queries of a transaction one after the other in one round trip, and returns the rows of each. Each sees what those before it
 * have locked and changed. Outside of a transaction they are executed side by side.
 */
export async function inOneTrip<const List extends Queries>(db: Db, queries: List): Promise<Rows<List>> {
  const compiled = queries.map((query) => query.compile(db))
  if (!isTransaction(db)) {
    const answers = await Promise.all(compiled.map(async (query) => db.executeQuery(query)))
    return answers.map(({ rows }) => rows) as Rows<List>
  }
  const waiting: Promise<StatementResult>[] = []
  const last = compiled.pop()
  if (last === undefined) return [] as unknown as Rows<List>
  for (const query of compiled) await waitForNext(db, query, (result) => waiting.push(result))
  const { rows } = await db.executeQuery(last)
  const earlier = await Promise.all(waiting)
  return [...earlier.map((answer) => answer.rows), rows] as unknown as Rows<List>
}
