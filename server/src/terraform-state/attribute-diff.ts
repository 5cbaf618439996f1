import { isSameJson, isWideNumber } from '@groundstate/contract/exact-json'
import { isJsonObject } from './json-fields.ts'
import { type Sensitivity, joined, part } from './sensitivity.ts'

/** A difference within an object. A sensitive one has neither `before` nor `after`; a missing side is absent. */
export type AttributeChange = {
  /** `tags["Name"]`, `ebs[0].size`; empty for a whole value. */
  path: string
  action: 'added' | 'changed' | 'removed'
  sensitive: boolean
  before?: unknown
  after?: unknown
}

/** Remaining number of changes to report, and texts that must not be reported. Shared by all comparisons of a diff. */
export type DiffBudget = { changes: number; truncated: boolean; secrets: ReadonlySet<string> }

export type Side = { value: unknown; sensitive: Sensitivity } | undefined

/** Minimum length of texts that are treated as secrets elsewhere: shorter ones, such as `true` or `admin`, are common. */
const SECRET_LENGTH = 8
/** Length at which reported texts are truncated. */
const TEXT_LENGTH = 2048
/** Deeper values are compared as a whole. */
const MAX_DEPTH = 64

const MISSING = Symbol('missing')

/** Texts in the sensitive parts of a value that are long enough to be recognised elsewhere. */
export function* secretsOf(value: unknown, sensitive: Sensitivity): Generator<string> {
  if (sensitive === undefined) return
  if (typeof value === 'string') {
    if (sensitive === true && value.length >= SECRET_LENGTH) yield value
  } else if (typeof value === 'object' && value !== null) {
    for (const [key, item] of Object.entries(value)) yield* secretsOf(item, partOf(value, sensitive, key))
  }
}

/** Compares two values recursively. `differ` is exact even if the budget is used up. */
export function changedAttributes(before: Side, after: Side, budget: DiffBudget) {
  const changes: AttributeChange[] = []
  const sensitive = joined(before?.sensitive, after?.sensitive)
  const old = before === undefined ? MISSING : before.value
  const now = after === undefined ? MISSING : after.value
  const differ = compare('', old, now, sensitive, 0)
  return { changes, differ }

  function compare(path: string, old: unknown, now: unknown, sensitive: Sensitivity, depth: number): boolean {
    if (old === now || (isNothing(old) && isNothing(now))) return false
    if (sensitive !== true && depth < MAX_DEPTH && haveParts(old, now)) {
      return compareParts(path, old, now, sensitive, depth)
    }
    if (isSameJson(old, now)) return false
    report(path, old, now, sensitive)
    return true
  }

  /** Treats a missing side as empty, so that an added object is reported by attribute. */
  function compareParts(path: string, old: unknown, now: unknown, sensitive: Sensitivity, depth: number) {
    const keys = new Set([...keysOf(old), ...keysOf(now)])
    const inArray = Array.isArray(old) || Array.isArray(now)
    let differ = false
    for (const key of keys) {
      const tree = joined(partOf(old, sensitive, key), partOf(now, sensitive, key))
      const place = inArray ? `${path}[${key}]` : `${path}${step(path, key)}`
      if (compare(place, item(old, key), item(now, key), tree, depth + 1)) differ = true
    }
    if (differ || isNothing(old) === isNothing(now)) return differ
    // A missing value equals an empty container, or one of nulls.
    report(path, old, now, sensitive)
    return true
  }

  function report(path: string, old: unknown, now: unknown, sensitive: Sensitivity) {
    if (budget.changes <= 0) {
      budget.truncated = true
      return
    }
    budget.changes--
    const action = old === MISSING ? 'added' : now === MISSING ? 'removed' : 'changed'
    if (sensitive !== undefined || holdsSecret(old, budget.secrets) || holdsSecret(now, budget.secrets)) {
      changes.push({ path, action, sensitive: true })
      return
    }
    const change: AttributeChange = { path, action, sensitive: false }
    if (old !== MISSING) change.before = shortened(old)
    if (now !== MISSING) change.after = shortened(now)
    changes.push(change)
  }
}

/** The engine writes null for unset attributes, and newer providers for attributes that older ones lack. */
function isNothing(value: unknown) {
  return value === MISSING || value === null
}

/** Whether both are objects, both are arrays, or one is a container and the other nothing. */
function haveParts(old: unknown, now: unknown) {
  if (isNothing(old)) return isContainer(now)
  if (isNothing(now)) return isContainer(old)
  return isContainer(old) && isContainer(now) && Array.isArray(old) === Array.isArray(now)
}

function isContainer(value: unknown) {
  return typeof value === 'object' && value !== null && !isWideNumber(value)
}

function keysOf(value: unknown) {
  return typeof value === 'object' && value !== null ? Object.keys(value) : []
}

function item(value: unknown, key: string): unknown {
  if (Array.isArray(value)) return Number(key) < value.length ? value[Number(key)] : MISSING
  return isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : MISSING
}

/**
 * Sensitivity of a part. Raw states wrap values without a static type as `{value, type}`, which sensitive paths skip: a tree with neither
 * field belongs to the wrapped value.
 */
function partOf(value: unknown, sensitive: Sensitivity, key: string): Sensitivity {
  if (sensitive === true || sensitive === undefined) return sensitive
  const isWrapper = isJsonObject(value) && 'value' in value && 'type' in value && Object.keys(value).length === 2
  if (isWrapper && !('value' in sensitive) && !('type' in sensitive)) return key === 'value' ? sensitive : undefined
  return part(sensitive, key)
}

function step(path: string, key: string) {
  if (!/^[A-Za-z_][A-Za-z0-9_-]*$/.test(key)) return `[${JSON.stringify(key)}]`
  return path === '' ? key : `.${key}`
}

function holdsSecret(value: unknown, secrets: ReadonlySet<string>): boolean {
  if (secrets.size === 0) return false
  if (typeof value === 'string') return secrets.has(value)
  if (typeof value !== 'object' || value === null) return false
  return Object.values(value).some((inner) => holdsSecret(inner, secrets))
}

export function shortened(value: unknown): unknown {
  if (typeof value === 'string') return value.length > TEXT_LENGTH ? `${value.slice(0, TEXT_LENGTH)}…` : value
  if (typeof value !== 'object' || value === null) return value
  const json = JSON.stringify(value)
  return json.length > TEXT_LENGTH ? `${json.slice(0, TEXT_LENGTH)}…` : value
}
