import { sql } from 'kysely'

/** A pattern for `like` and `ilike` that matches `text` anywhere; special characters are escaped. */
export function containing(text: string) {
  return `%${escapeLike(text)}%`
}

/** A pattern for `like` and `ilike` in which only `*` matches any text. */
export function wildcard(text: string) {
  return escapeLike(text).replaceAll('*', '%')
}

function escapeLike(text: string) {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}

/** Values as an SQL list of text literals, for migrations. */
export function literalList(values: readonly string[]) {
  return values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ')
}

/** Values as literals: a prepared statement with parameters in their place cannot use a partial index. */
export function literals(values: readonly string[]) {
  return sql.raw(literalList(values))
}

/**
 * SQL of a list with `names` as the database lowers them, for a comparison with `lower(…)`. JavaScript lowers some letters
 * differently.
 */
export function lowered(names: readonly string[]) {
  return sql`(select lower(given.name) from unnest(${names}::text[]) as given(name))`
}
