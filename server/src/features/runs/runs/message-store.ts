import { type RawBuilder, sql } from 'kysely'
import { containing } from '../../../db/sql.ts'

/** Characters other than spaces that separate words. */
export const SEPARATORS = `\t\r\n-_/.:,;=|()[]{}<>"'`

export const spaced = (text: RawBuilder<unknown>) =>
  sql`translate(lower(${text}), ${sql.lit(SEPARATORS)}, ${sql.lit(' '.repeat(SEPARATORS.length))})`

/** A text of one or two characters is the beginning of a word: nearly every message has it somewhere. */
export const isShort = (text: string) => Array.from(text).length < 3

/** Whether a message has a text that is searched for. */
export function containsText(message: RawBuilder<unknown>, text: string): RawBuilder<boolean> {
  if (!isShort(text)) return sql<boolean>`${message} ilike ${containing(text)}`
  return sql<boolean>`' ' || ${spaced(message)} like lower(${containing(` ${text}`)})`
}

/**
 * A text in ASCII letters and digits. pg_trgm ignores all other characters, such as spaces, and does not know what follows what across
 * them; in some locales it ignores letters of other alphabets too. They become their bytes in octal, or a `q`: that different texts have
 * the same code does no harm, since every run that the index finds is checked.
 */
export const code = (text: RawBuilder<unknown>, { kept = '' } = {}) =>
  sql`regexp_replace(encode(convert_to(lower(${text}), 'UTF8'), 'escape'), ${sql.lit(`[^a-z0-9${kept}]`)}, 'q', 'g')`

/** The column `words` of `run_keys`: the code of the message, and the codes of the first letters of its words. */
export function wordsOf(message: RawBuilder<unknown>): RawBuilder<string> {
  const initials = sql`regexp_replace(${spaced(message)}, '([^ ])[^ ]*', '\\1', 'g')`
  return sql<string>`'q' || ${code(message)} || ' ' || ${code(initials, { kept: ' ' })} || ' '`
}

/** A condition on `words` that every message with the text meets, and few others. */
export function mayContainText(words: RawBuilder<unknown>, text: string): RawBuilder<boolean> {
  const value = sql`${isShort(text) ? ` ${text}` : text}::text`
  if (Array.from(text).length > 1) return sql<boolean>`${words} like '%' || ${code(value)} || '%'`
  return sql<boolean>`${words} like '%' || ${code(value, { kept: ' ' })} || ' %'`
}
