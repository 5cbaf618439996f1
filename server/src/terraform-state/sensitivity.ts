import { isJsonObject } from './json-fields.ts'

/** Sensitive parts of a value by key or index, or `true` for all of it, as in `sensitive_values` of JSON states. */
export type Sensitivity = true | { [key: string]: Sensitivity } | undefined

/**
 * Converts `sensitive_attributes` of a raw state, a list of paths of steps. A step that cannot be followed, such as an element of a set, makes the
 * whole value before it sensitive; an invalid path, everything.
 */
export function sensitivityOfPaths(paths: unknown): Sensitivity {
  if (paths === undefined || paths === null) return undefined
  if (!Array.isArray(paths)) return true
  let tree: Sensitivity
  for (const path of paths) tree = joined(tree, sensitivityOfPath(path))
  return tree
}

function sensitivityOfPath(path: unknown): Sensitivity {
  if (!Array.isArray(path)) return true
  let tree: Sensitivity = true
  const keys = path.map(stepKey)
  const followed = keys.includes(undefined) ? keys.slice(0, keys.indexOf(undefined)) : keys
  for (const key of followed.toReversed()) tree = Object.fromEntries([[String(key), tree]])
  return tree
}

function stepKey(step: unknown): string | undefined {
  if (!isJsonObject(step)) return undefined
  if (step.type === 'get_attr') return typeof step.value === 'string' ? step.value : undefined
  if (step.type !== 'index') return undefined
  // A key that may be a string or a number is an object with its type.
  const key = isJsonObject(step.value) ? step.value.value : step.value
  return typeof key === 'string' || typeof key === 'number' ? String(key) : undefined
}

/** Converts a JSON tree that has `true` at sensitive parts, in objects and arrays of the value's shape. */
export function sensitivityOfTree(tree: unknown): Sensitivity {
  if (tree === true) return true
  if (typeof tree !== 'object' || tree === null) return undefined
  const parts: [string, Sensitivity][] = []
  for (const [key, part] of Object.entries(tree)) {
    const inner = sensitivityOfTree(part)
    if (inner !== undefined) parts.push([key, inner])
  }
  return parts.length === 0 ? undefined : Object.fromEntries(parts)
}

/** Union of two trees. */
export function joined(one: Sensitivity, other: Sensitivity): Sensitivity {
  if (one === undefined || other === true) return other
  if (other === undefined || one === true) return one
  const keys = new Set([...Object.keys(one), ...Object.keys(other)])
  return Object.fromEntries([...keys].map((key) => [key, joined(part(one, key), part(other, key))]))
}

export function part(tree: Sensitivity, key: string | number): Sensitivity {
  if (tree === true || tree === undefined) return tree
  return Object.hasOwn(tree, key) ? tree[key] : undefined
}
