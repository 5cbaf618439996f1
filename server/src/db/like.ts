/** A pattern for `like` and `ilike` that finds `text` anywhere, whatever characters it has. */
export function containing(text: string) {
  return `%${escapeLike(text)}%`
}

/** A pattern for `like` and `ilike` in which only `*` stands for any text. */
export function wildcard(text: string) {
  return escapeLike(text).replaceAll('*', '%')
}

function escapeLike(text: string) {
  return text.replaceAll(/[\\%_]/g, String.raw`\$&`)
}
