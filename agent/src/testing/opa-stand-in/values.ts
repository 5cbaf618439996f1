import { RegoSet, type Value } from './rego-parser.ts'

/** A text that is the same for equal values. */
export function keyOf(value: Value): string {
  return value instanceof RegoSet ? `set ${JSON.stringify(toJson(value))}` : JSON.stringify(toJson(value))
}

/** A value as JSON: sets as arrays in OPA's order, and the keys of objects in order. */
export function toJson(value: Value): unknown {
  if (value instanceof RegoSet) return [...value.items.values()].toSorted(compare).map(toJson)
  if (Array.isArray(value)) return value.map(toJson)
  if (typeof value !== 'object' || value === null) return value
  const keys = Object.keys(value).toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)))
  return Object.fromEntries(keys.map((key) => [key, toJson(value[key] ?? null)]))
}

/** Prints JSON as Go does, which escapes characters that HTML gives a meaning. */
export function printGo(document: unknown, indent?: number): string {
  return JSON.stringify(document, undefined, indent).replaceAll(
    /[<>&\u2028\u2029]/g,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

const ORDER = ['null', 'boolean', 'number', 'string', 'array', 'object', 'set']

function kindOf(value: Value): string {
  if (value === null) return 'null'
  if (value instanceof RegoSet) return 'set'
  return Array.isArray(value) ? 'array' : typeof value
}

/** The order of values in Rego: by kind, then by value. */
export function compare(a: Value, b: Value): number {
  const [one, other] = [ORDER.indexOf(kindOf(a)), ORDER.indexOf(kindOf(b))]
  if (one !== other) return one - other
  if (typeof a === 'number' && typeof b === 'number') return a - b
  if (typeof a === 'string' && typeof b === 'string') return Buffer.compare(Buffer.from(a), Buffer.from(b))
  const [text, otherText] = [keyOf(a), keyOf(b)]
  return text < otherText ? -1 : Number(text > otherText)
}
