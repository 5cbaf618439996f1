/** Comments, texts in quotes, names and punctuation of HCL. Unclosed ones end with the line or the file, so that each character is read once. */
const TOKEN = /\/\*(?:[^]*?\*\/|[^]*)|(?:#|\/\/)[^\n]*|"(?:[^"\\\n]|\\[^\n])*"?|[A-Za-z_][\w-]*|[{}=]/g

/** The providers in a dependency lock file: the literal `version` of each `provider` block. Everything else is ignored. */
export function lockedProviders(text: string): { source: string; version: string }[] {
  const tokens = (text.match(TOKEN) ?? []).filter((token) => !/^(?:#|\/[/*])/.test(token))
  const found = []
  let depth = 0
  let source: string | undefined
  for (const [index, token] of tokens.entries()) {
    if (token === '{') {
      depth += 1
      if (depth === 1) source = tokens[index - 2] === 'provider' ? literal(tokens[index - 1]) : undefined
    } else if (token === '}') depth = Math.max(0, depth - 1)
    else if (depth === 1 && token === 'version' && tokens[index + 1] === '=') {
      const version = literal(tokens[index + 2])
      if (source !== undefined && version !== undefined) found.push({ source, version })
    }
  }
  return found
}

/** A text in quotes without escapes and templates, which addresses and versions have none of. */
function literal(token: string | undefined): string | undefined {
  return /^"([^"\\$%]+)"$/.exec(token ?? '')?.[1]
}
