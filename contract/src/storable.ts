/*
 * PostgreSQL stores neither U+0000 nor lone surrogates, the halves of a character, in texts or JSON. Texts from users, hosts, engines and
 * receivers may contain them, or end with a half after they were cut: U+FFFD replaces them.
 */

/** Replaces the characters of a text that the database does not store. */
export function storableText(text: string): string {
  return text.toWellFormed().replaceAll('\0', '\u{FFFD}')
}

/** Escapes in JSON: those that are kept, or a null character or lone surrogate. */
const ESCAPES = /(\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}|\\[^u])|\\u(?:0000|d[89a-f][0-9a-f]{2})/gi

/** As `storableText`, for the strings of a JSON text. */
export function storableJson(json: string): string {
  return json.includes(String.raw`\u`)
    ? json.replaceAll(ESCAPES, (_, kept?: string) => kept ?? String.raw`\ufffd`)
    : json
}
