import { isWideNumber } from '@groundstate/contract/exact-json'
import { isJsonObject } from './json-fields.ts'

/** The engine's JSON form of a type: `"string"`, `["list", "string"]`, `["object", {"a": "number"}]` … */
export type CtyType = string | [string, ...unknown[]]

const PRIMITIVES = new Set(['string', 'number', 'bool', 'dynamic'])
const COLLECTIONS = new Set(['list', 'set', 'map'])

export function isCtyType(value: unknown): value is CtyType {
  if (typeof value === 'string') return PRIMITIVES.has(value)
  if (!Array.isArray(value)) return false
  const [kind, inner]: unknown[] = value
  if (typeof kind !== 'string') return false
  if (COLLECTIONS.has(kind)) return value.length === 2 && isCtyType(inner)
  if (kind === 'tuple') return value.length === 2 && Array.isArray(inner) && inner.every(isCtyType)
  // Optional attributes follow as a third element.
  if (kind === 'object') return isJsonObject(inner) && Object.values(inner).every(isCtyType)
  return false
}

/** The type that the engine would give a literal of this value. */
export function inferredType(value: unknown): CtyType {
  if (typeof value === 'string') return 'string'
  if (typeof value === 'number' || isWideNumber(value)) return 'number'
  if (typeof value === 'boolean') return 'bool'
  if (Array.isArray(value)) return ['tuple', value.map(inferredType)]
  if (isJsonObject(value)) {
    return ['object', Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inferredType(item)]))]
  }
  return 'dynamic'
}

const OUTPUT_TYPES: Record<string, string> = {
  bool: 'boolean',
  list: 'array',
  set: 'array',
  tuple: 'array',
  map: 'object',
}

/** The `type` of an output in the public API, a JSON type; HashiCorp's Kubernetes operator expects `boolean` and `array`. */
export function outputType(type: CtyType): string {
  const kind = typeof type === 'string' ? type : type[0]
  return OUTPUT_TYPES[kind] ?? kind
}
