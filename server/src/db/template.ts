import { type CompiledQuery, type RawBuilder, sql } from 'kysely'
import type { Db } from './db.ts'

export type Query<Row> = { compile: (db: Db) => CompiledQuery<Row> }

/** SQL of a parameter whose value `read` takes from the values of each execution. */
export type Slots<Values> = <T>(read: (values: Values) => T) => RawBuilder<T>

/** Placeholder for a parameter in a compiled statement. */
class Slot {
  readonly read: (values: unknown) => unknown

  constructor(read: (values: unknown) => unknown) {
    this.read = read
  }
}

/**
 * A statement compiled once for all executions, since compiling takes longer than sending. `build` uses slots instead of values, so its text
 * cannot depend on them.
 */
export function template<Values, Row>(build: (db: Db, slot: Slots<Values>) => Query<Row>) {
  let compiled: CompiledQuery<Row> | undefined
  return (values: Values): Query<Row> => ({
    compile(db) {
      compiled ??= build(db, (read) => sql`${new Slot(read as Slot['read'])}`).compile(db)
      const parameters = compiled.parameters.map((value) => (value instanceof Slot ? value.read(values) : value))
      return { ...compiled, parameters }
    },
  })
}

/** Like `template`, for a statement whose text has several forms, each compiled on first use. */
export function templateOf<Form extends Record<string, boolean>, Values, Row>(
  build: (form: Form, db: Db, slot: Slots<Values>) => Query<Row>,
) {
  const templates = new Map<string, ReturnType<typeof template<Values, Row>>>()
  return (form: Form, values: Values): Query<Row> => {
    const key = Object.values(form).join()
    const statement = templates.get(key) ?? template<Values, Row>((db, slot) => build(form, db, slot))
    templates.set(key, statement)
    return statement(values)
  }
}

export async function rowsOf<Row>(db: Db, query: Query<Row>): Promise<Row[]> {
  return (await db.executeQuery(query.compile(db))).rows
}
