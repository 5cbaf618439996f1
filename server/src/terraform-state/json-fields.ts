import { isWideNumber } from '@groundstate/contract/exact-json'
import { invalid } from '../errors.ts'

/** A JSON object whose fields are not known yet. */
export type JsonObject = Record<string, unknown>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isWideNumber(value)
}

/** A list of objects; empty when absent. `name` is the field's, for the error. */
export function listField(value: unknown, name: string): JsonObject[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value) && value.every(isJsonObject)) return value
  throw invalid(`the state's ${name} is not a list of objects`)
}

/** An object; empty when absent. */
export function objectField(value: unknown): JsonObject {
  if (value === undefined || value === null) return {}
  if (isJsonObject(value)) return value
  throw invalid(`the state has ${JSON.stringify(value).slice(0, 40)} where an object belongs`)
}

/** Empty when it is no text. */
export function textField(value: unknown) {
  return typeof value === 'string' ? value : ''
}

/** Null when it is empty, or no text. */
export function textOrNull(value: unknown) {
  return textField(value) || null
}

export function numberOrNull(value: unknown) {
  return typeof value === 'number' ? value : null
}

/** The key of an instance, as formats since 4 write it: a number of `count`, a text of `for_each`. */
export function instanceKey(value: unknown) {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined
}
