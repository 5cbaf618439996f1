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
