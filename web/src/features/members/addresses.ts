const ADDRESS = /^[^@\s<>"]+@[^@\s<>"]+\.[^@\s<>"]+$/

/**
 * The email addresses in a text as people type it and mail clients copy it: separated by commas, semicolons, lines or spaces, or in angle
 * brackets after a name, which may be in quotes. `invalid` are the parts that are no address.
 */
export function addressesIn(text: string): { emails: string[]; invalid: string[] } {
  const emails = new Map<string, string>()
  const invalid: string[] = []
  // A separator in quotes belongs to a name.
  for (const entry of text.match(/(?:"(?:\\.|[^"\\\n])*"|[^,;\n])+/g) ?? []) {
    const trimmed = entry.trim()
    if (trimmed === '') continue
    const bracketed = [...trimmed.matchAll(/<([^<>]*)>/g)].map(([, address = '']) => address.trim())
    const rest = trimmed.slice(trimmed.lastIndexOf('>') + 1).split(/\s+/)
    const words = [...bracketed, ...rest].filter((word) => word !== '')
    const found = words.filter((word) => ADDRESS.test(word))
    // Addresses are the same in upper and lower case.
    for (const email of found) if (!emails.has(email.toLowerCase())) emails.set(email.toLowerCase(), email)
    if (found.length === 0) invalid.push(trimmed)
    else invalid.push(...words.filter((word) => !ADDRESS.test(word)))
  }
  return { emails: [...emails.values()], invalid }
}
