import { isSameNumber, isWideNumber } from './exact-json.ts'

/** Whether two parsed JSON values have the same content. The order of members does not count; null is not a missing one. */
export function isSameJson(one: unknown, other: unknown): boolean {
  if (isNumber(one) && isNumber(other)) return isSameNumber(one, other)
  if (Array.isArray(one) || Array.isArray(other)) {
    return (
      Array.isArray(one) &&
      Array.isArray(other) &&
      one.length === other.length &&
      one.every((item, index) => isSameJson(item, other[index]))
    )
  }
  if (!isObject(one) || !isObject(other)) return one === other
  const keys = Object.keys(one)
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isSameJson(one[key], other[key]))
  )
}

function isNumber(value: unknown) {
  return typeof value === 'number' || isWideNumber(value)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !isWideNumber(value)
}
