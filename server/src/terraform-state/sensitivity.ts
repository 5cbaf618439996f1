import { isJsonObject } from './json-fields.ts'

/**
 * Which parts of a value are sensitive: `true` for all of it, else the parts by key or index. It is the engine's
 * `sensitive_values` of JSON states; the paths of raw states become the same tree.
 */
export type Sensitivity = true | { [key: string]: Sensitivity } | undefined

/**
 * The `sensitive_attributes` of a raw state's instance, a list of paths of steps. A step that can't be followed, such as
 * the element of a set, makes the value before it sensitive as a whole, and paths that can't be read make everything so.
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
  // The key comes with its type, since it may be a string or a number.
  const key = isJsonObject(step.value) ? step.value.value : step.value
  return typeof key === 'string' || typeof key === 'number' ? String(key) : undefined
}

/** A tree of JSON: `true` at what is sensitive, in objects and arrays of the value's shape. */
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

/** Sensitive where either is. */
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
