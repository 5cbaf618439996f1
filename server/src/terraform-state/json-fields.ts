import { isWideNumber } from '@groundstate/contract/exact-json'
import { invalid } from '../errors.ts'

export type JsonObject = Record<string, unknown>

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isWideNumber(value)
}

/** A list of objects; empty if absent. Throws `invalid` with the name of the field. */
export function listField(value: unknown, name: string): JsonObject[] {
  if (value === undefined || value === null) return []
  if (Array.isArray(value) && value.every(isJsonObject)) return value
  throw invalid(`the state's ${name} is not a list of objects`)
}

/** An object; empty if absent. Throws `invalid`. */
export function objectField(value: unknown): JsonObject {
  if (value === undefined || value === null) return {}
  if (isJsonObject(value)) return value
  throw invalid(`the state has ${JSON.stringify(value).slice(0, 40)} where an object belongs`)
}

/** Empty if the value is not a string. */
export function textField(value: unknown) {
  return typeof value === 'string' ? value : ''
}

/** Null if the value is empty or not a string. */
export function textOrNull(value: unknown) {
  return textField(value) || null
}

export function numberOrNull(value: unknown) {
  return typeof value === 'number' ? value : null
}

/** Key of an instance: a number for `count`, a string for `for_each`. */
export function instanceKey(value: unknown) {
  return typeof value === 'string' || typeof value === 'number' ? value : undefined
}
