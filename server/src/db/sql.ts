import { sql } from 'kysely'

/** Pattern for `like` and `ilike` that matches `text` anywhere. */
export function containing(text: string) {
  return `%${escapeLike(text)}%`
}

/** Pattern for `like` and `ilike` in which only `*` is a wildcard. */
export function wildcard(text: string) {
  return escapeLike(text).replaceAll('*', '%')
}

function escapeLike(text: string) {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}

/** SQL list of text literals. */
export function literalList(values: readonly string[]) {
  return values.map((value) => `'${value.replaceAll("'", "''")}'`).join(', ')
}

/** SQL list of literals, for prepared statements that use a partial index, which parameters would prevent. */
export function literals(values: readonly string[]) {
  return sql.raw(literalList(values))
}

/** SQL list of `names` lower-cased by the database, to compare with `lower(…)`: JavaScript lower-cases some letters differently. */
export function lowered(names: readonly string[]) {
  return sql`(select lower(listed.name) from unnest(${names}::text[]) as listed(name))`
}
