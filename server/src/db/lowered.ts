import { sql } from 'kysely'

/**
 * SQL of a list with `names` as the database lowers them, for a comparison with `lower(…)`. JavaScript lowers some letters
 * differently.
 */
export function lowered(names: readonly string[]) {
  return sql`(select lower(given.name) from unnest(${names}::text[]) as given(name))`
}
