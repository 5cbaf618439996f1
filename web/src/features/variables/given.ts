/** A variable that someone has given as text, or a place in the text that can't be read. */
export type Given =
  | { key: string; value: string; hcl: boolean; /** Counted from 1. */ line: number }
  | { fault: string; line: number }

export type GivenFormat = 'tfvars' | 'env' | 'json'

/** Which format a text has: by the name of its file if there is one, else by what it looks like. */
export function formatOf(text: string, fileName = ''): GivenFormat {
  if (/\.json$/i.test(fileName)) return 'json'
  if (/\.tfvars$/i.test(fileName)) return 'tfvars'
  if (/(?:^|\.)env(?:\.|$)/i.test(fileName)) return 'env'
  const trimmed = text.trim()
  if (trimmed.startsWith('{') && trimmed.endsWith('}')) return 'json'
  const lines = trimmed.split('\n').filter((line) => /^\s*[\w.-]+\s*=|^\s*export\s/.test(line))
  const isEnv =
    lines.some((line) => /^\s*export\s/.test(line)) ||
    (lines.length > 0 && lines.every((line) => /^[A-Z_][A-Z0-9_]*=/.test(line)))
  return isEnv ? 'env' : 'tfvars'
}

/** A secret by its name: what is offered as sensitive until the person says otherwise. */
export function soundsSecret(key: string) {
  return /passw(?:or)?d|secret|token|private[_-]?key|api[_-]?key|access[_-]?key(?!.*id)|credential/i.test(key)
}

/** Only the last of several of the same name counts; the others are faults that say so. */
export function withoutRepeats(given: readonly Given[]): Given[] {
  const last = new Map(given.flatMap((one) => ('key' in one ? [[one.key, one] as const] : [])))
  return given.map((one) => {
    const winner = 'key' in one ? last.get(one.key) : undefined
    return winner === undefined || winner === one || !('key' in one)
      ? one
      : { line: one.line, fault: `${one.key} is given again in line ${winner.line}, which counts` }
  })
}

export function withoutMark(text: string) {
  return text.replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
}
