import type { CompiledQuery } from 'kysely'
import type { Db } from './db.ts'

type Compilable<Row> = { compile: () => CompiledQuery<Row> }

/**
 * A query that is built and compiled once, for those that every request sends: to build one anew takes the processor longer
 * than to send it. `build` gets a placeholder for each of the values, all of them texts, and must not look at them.
 */
export function prepared<Name extends string, Row>(
  names: readonly Name[],
  build: (db: Db, values: Record<Name, string>) => Compilable<Row>,
) {
  // No text that a query itself holds can be one of these: PostgreSQL knows none with the character U+0000.
  const placeholders = Object.fromEntries(names.map((name) => [name, `\0${name}`])) as Record<Name, string>
  const nameOf = new Map<unknown, Name>(names.map((name) => [placeholders[name], name]))
  let compiled: CompiledQuery<Row> | undefined

  return async (db: Db, values: Record<Name, string>): Promise<Row[]> => {
    compiled ??= build(db, placeholders).compile()
    const parameters = compiled.parameters.map((parameter) => {
      const name = nameOf.get(parameter)
      return name === undefined ? parameter : values[name]
    })
    const { rows } = await db.executeQuery<Row>({ ...compiled, parameters })
    return rows
  }
}
