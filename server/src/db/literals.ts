import { sql } from 'kysely'

/** Values as an SQL list of text literals, for migrations. */
export function literalList(values: readonly string[]) {
  return values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ')
}

/** Values as literals: a prepared statement with parameters in their place cannot use a partial index. */
export function literals(values: readonly string[]) {
  return sql.raw(literalList(values))
}
