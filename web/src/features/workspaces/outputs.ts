import { printExact } from '@groundstate/contract/exact-json'

/** A string as is, anything else as JSON. */
export function outputText(value: unknown): string {
  return typeof value === 'string' ? value : printExact(value, 2)
}

/** The type of an output in the engine's notation: `list(string)` for `["list", "string"]`. */
export function typeText(detailed: unknown, fallback: string): string {
  if (typeof detailed === 'string') return detailed
  if (!Array.isArray(detailed)) return fallback
  const [kind, inner] = detailed as [unknown, unknown]
  if (typeof kind !== 'string') return fallback
  // The attributes of an object would not fit in a cell.
  if (kind === 'object' || kind === 'tuple') return kind
  return `${kind}(${typeText(inner, 'any')})`
}

const SHORT_LINES = 4
const SHORT_CHARS = 300

/** The beginning of a text that is too long for a table row, and its number of lines; undefined for one that fits. */
export function shortened(text: string, maxLines = SHORT_LINES) {
  const lines = text.split('\n')
  const start = lines.slice(0, maxLines).join('\n').slice(0, SHORT_CHARS)
  return start.length === text.length ? undefined : { start, lines: lines.length }
}
