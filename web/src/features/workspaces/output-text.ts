import { printExact } from '@groundstate/contract/exact-json'

/** A value as people read it: a text as it is, anything else as JSON. */
export function outputText(value: unknown): string {
  return typeof value === 'string' ? value : printExact(value, 2)
}

/**
 * The type of an output as the engine writes it: `list(string)` of `["list", "string"]`. The JSON type where the state
 * does not say more.
 */
export function typeText(detailed: unknown, fallback: string): string {
  if (typeof detailed === 'string') return detailed
  if (!Array.isArray(detailed)) return fallback
  const [kind, inner] = detailed as [unknown, unknown]
  if (typeof kind !== 'string') return fallback
  // All attributes of an object in a cell would hide the others.
  if (kind === 'object' || kind === 'tuple') return kind
  return `${kind}(${typeText(inner, 'any')})`
}

const SHORT_LINES = 4
const SHORT_CHARS = 300

/** The beginning of a text that is too long for a row of a table; undefined for one that fits. */
export function shortened(text: string): { start: string; lines: number } | undefined {
  const lines = text.split('\n')
  const start = lines.slice(0, SHORT_LINES).join('\n').slice(0, SHORT_CHARS)
  return start.length === text.length ? undefined : { start, lines: lines.length }
}
