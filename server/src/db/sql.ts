import { type Insertable, type SelectType, sql } from 'kysely'
import type { Db } from './db.ts'
import type { Schema } from './schema.gen.ts'

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

/** A row to insert; JSON columns take the value instead of its text. */
export type NewRow<Table extends keyof Schema> = {
  [Name in keyof Insertable<Schema[Table]>]: Name extends keyof Schema[Table]
    ? unknown extends SelectType<Schema[Table][Name]>
      ? object | null
      : Insertable<Schema[Table]>[Name]
    : never
}

/** Rows with the columns of a table as a relation. They are one parameter, since a statement can have at most 65,535. */
export function recordset<Table extends keyof Schema>(table: Table, rows: readonly NewRow<Table>[]) {
  return sql`json_populate_recordset(null::${sql.table(table)}, ${JSON.stringify(rows, columnJson)})`
}

function columnJson(this: Record<string, unknown>, name: string, value: unknown) {
  const bytes = this[name]
  return Buffer.isBuffer(bytes) ? String.raw`\x${bytes.toString('hex')}` : value
}

/** Inserts any number of rows, at least one; the first has the columns of all. */
export function insertRows<Table extends keyof Schema>(db: Db, table: Table, rows: readonly NewRow<Table>[]) {
  const columns = Object.keys(rows[0] ?? {})
  const values = sql`(select ${sql.join(columns.map((name) => sql.ref(name)))} from ${recordset(table, rows)})`
  return db
    .insertInto(table)
    .columns(columns as never)
    .expression(values)
}
