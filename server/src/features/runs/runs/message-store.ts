import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../../../db/db.ts'
import { containing } from '../../../db/sql.ts'

/** Characters other than spaces that separate words. */
const SEPARATORS = `\t\r\n-_/.:,;=|()[]{}<>"'`

const spaceSeparated = (text: RawBuilder<unknown>) =>
  sql`translate(lower(${text}), ${sql.lit(SEPARATORS)}, ${sql.lit(' '.repeat(SEPARATORS.length))})`

/** A text of one or two characters matches only the start of a word: nearly every message contains it. */
const isShort = (text: string) => Array.from(text).length < 3

export function containsText(message: RawBuilder<unknown>, text: string): RawBuilder<boolean> {
  if (!isShort(text)) return sql<boolean>`${message} ilike ${containing(text)}`
  return sql<boolean>`' ' || ${spaceSeparated(message)} like lower(${containing(` ${text}`)})`
}

/**
 * Encodes a text in ASCII letters and digits. pg_trgm ignores all other characters and matches nothing across them; in some locales it
 * also ignores non-Latin letters. They become their UTF-8 bytes in octal, or a `q`. Collisions are harmless, since every match of the
 * index is checked.
 */
const encode = (text: RawBuilder<unknown>, { kept = '' } = {}) =>
  sql`regexp_replace(encode(convert_to(lower(${text}), 'UTF8'), 'escape'), ${sql.lit(`[^a-z0-9${kept}]`)}, 'q', 'g')`

/** The column `words` of `run_keys`: the encoded message, and the encoded first letters of its words. */
export function wordsOf(message: RawBuilder<unknown>): RawBuilder<string> {
  const initials = sql`regexp_replace(${spaceSeparated(message)}, '([^ ])[^ ]*', '\\1', 'g')`
  return sql<string>`'q' || ${encode(message)} || ' ' || ${encode(initials, { kept: ' ' })} || ' '`
}

/** A condition on `words` that holds for every message with the text, and few others. */
export function mayContainText(words: RawBuilder<unknown>, text: string): RawBuilder<boolean> {
  const value = sql`${isShort(text) ? ` ${text}` : text}::text`
  if (Array.from(text).length > 1) return sql<boolean>`${words} like '%' || ${encode(value)} || '%'`
  return sql<boolean>`${words} like '%' || ${encode(value, { kept: ' ' })} || ' %'`
}

/** Sets the message of runs that have none, and has searches find them by it. */
export async function setMissingMessages(db: Db, runIds: readonly string[], message: string) {
  await sql`
    with changed as (
      update runs set message = ${message} where id = any(${runIds}) and message = '' returning id, message
    )
    update run_keys k set words = ${wordsOf(sql`c.message`)} from changed c where k.run_id = c.id`.execute(db)
}
