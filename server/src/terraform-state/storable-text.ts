/**
 * Text from a state as the database can hold it. Names in a state may have the character U+0000 and halves of surrogate pairs,
 * for which the database has no place. They are replaced by U+FFFD where they are shown; the content itself keeps them.
 */
export function storableText(text: string) {
  return text.toWellFormed().replaceAll('\0', '\ufffd')
}

/** As `storableText`, for JSON, which writes both as escapes. Every escape is matched, so that none begins within another. */
export function storableJson(value: unknown) {
  const json = JSON.stringify(value)
  if (!json.includes('\\u')) return json
  return json.replaceAll(/\\(?:u0000|ud[89a-f]..|.)/g, (escape) => (escape.length > 2 ? '\ufffd' : escape))
}
