import { isSameJson, isWideNumber, parseExact, printExact } from '@groundstate/contract/exact-json'
import type { AttributeChange, Side } from '../../../components/attribute-diff.tsx'

/** The `change` of a resource or an output in the engine's plan JSON. */
export type PlannedChange = {
  actions: readonly string[]
  before?: unknown
  after?: unknown
  after_unknown?: unknown
  before_sensitive?: unknown
  after_sensitive?: unknown
  replace_paths?: readonly (readonly (string | number)[])[]
  importing?: { id?: string; unknown?: boolean } | null
}

type Values = Record<string, unknown>
type ValueNode = {
  path: string
  before: unknown
  after: unknown
  unknown: unknown
  beforeSensitive: unknown
  afterSensitive: unknown
}

/** Flattens a change to paths such as `tags.env`. A null attribute is unset, whereas a null item of a list is a value. */
export function attributeChanges(change: PlannedChange, name = '') {
  const attributes: Attribute[] = []
  collect(attributes, {
    path: name,
    before: change.before,
    after: change.after,
    unknown: change.after_unknown,
    beforeSensitive: change.before_sensitive,
    afterSensitive: change.after_sensitive,
  })
  const replacePaths = (change.replace_paths ?? []).map((steps) => steps.reduce<string>(joinPath, ''))
  return {
    changed: attributes.filter(isChange).map((attribute): Attribute => {
      const { path } = attribute
      const isForcing = replacePaths.some((own) => isWithin(path, own) || isWithin(own, path))
      return isForcing ? { ...attribute, forcesReplacement: true } : attribute
    }),
    unchanged: attributes.filter((attribute) => !isChange(attribute)),
  }
}

/** `isChanged` overrides the comparison of the sides, for example for sensitive values. */
type Attribute = AttributeChange & { isChanged?: boolean }

function isChange({ before, after, isChanged }: Attribute) {
  if (isChanged !== undefined) return isChanged
  if (before.kind !== after.kind) return true
  return before.kind === 'value' && after.kind === 'value' && before.text !== after.text
}

function collect(attributes: Attribute[], node: ValueNode): void {
  const { path, before, after, unknown, beforeSensitive, afterSensitive } = node
  if (beforeSensitive === true || afterSensitive === true) return collectSensitive(attributes, node)
  if (unknown === true) return void attributes.push({ path, before: sideOf(before), after: { kind: 'unknown' } })
  if (isListChange(node)) return collectItems(attributes, node)
  const keys = memberKeys(node)
  if (keys.size > 0) {
    for (const key of keys) collect(attributes, child(node, joinPath(path, key), key, key))
    return
  }
  if (typeof before === 'string' && typeof after === 'string' && before !== after) {
    return collectStrings(attributes, path, before, after)
  }
  const sides = { before: sideOf(before), after: sideOf(after) }
  if (sides.before.kind !== 'absent' || sides.after.kind !== 'absent') attributes.push({ path, ...sides })
}

/** Whether both sides are lists or unset, with at least one item. */
function isListChange({ before, after, unknown }: ValueNode) {
  if (!Array.isArray(before) && !Array.isArray(after)) return false
  if (isObject(unknown) || ![before, after].every((side) => Array.isArray(side) || isUnset(side))) return false
  return [before, after, unknown].some((side) => Array.isArray(side) && side.length > 0)
}

function memberKeys({ before, after, unknown }: ValueNode): ReadonlySet<string> {
  const isMixed = ![before, after].every((side) => isObject(side) || isUnset(side))
  return new Set(isMixed ? [] : [before, after, unknown].flatMap((side) => (isObject(side) ? Object.keys(side) : [])))
}

/** Compares JSON by its members, and other texts line by line. */
function collectStrings(attributes: Attribute[], path: string, before: string, after: string) {
  const [one, other] = [parseJson(before), parseJson(after)]
  const json = one && other && Array.isArray(one) === Array.isArray(other) && { before: one, after: other }
  if (json) {
    const members: Attribute[] = []
    collect(members, { ...UNMARKED, path, ...json })
    if (members.some(isChange)) return void attributes.push(...members)
  }
  const whole: Attribute = { path, before: sideOf(before), after: sideOf(after) }
  if (json && isSameJson(json.before, json.after)) whole.isFormattingOnly = true
  if (before.includes('\n') || after.includes('\n')) whole.lines = lineChanges(before, after)
  attributes.push(whole)
  return undefined
}

const UNMARKED = { unknown: undefined, beforeSensitive: undefined, afterSensitive: undefined }

function collectSensitive(attributes: Attribute[], { path, before, after, unknown }: ValueNode) {
  const side = (value: unknown): Side => (isUnset(value) ? { kind: 'absent' } : { kind: 'sensitive' })
  const sides = { before: side(before), after: unknown === true ? ({ kind: 'unknown' } as const) : side(after) }
  if (sides.before.kind === 'absent' && sides.after.kind === 'absent') return
  attributes.push({ path, ...sides, isChanged: unknown === true || !isSameJson(before, after) })
}

/** Pairs equal items wherever they are, and the others by their order. */
function collectItems(attributes: Attribute[], node: ValueNode) {
  const before = arrayOf(node.before)
  const unknown = arrayOf(node.unknown)
  const known = arrayOf(node.after)
  const after = Array.from({ length: Math.max(known.length, unknown.length) }, (_, index) => known[index])
  const textsBefore = before.map((item, index) => printExact([item, arrayOf(node.beforeSensitive)[index] ?? null]))
  const textsAfter = after.map((item, index) =>
    hasMark(unknown[index]) ? `unknown ${index}` : printExact([item, arrayOf(node.afterSensitive)[index] ?? null]),
  )
  for (const { before: from, after: to, isMoved } of pairItems(textsBefore, textsAfter)) {
    if (isMoved && from !== undefined && to !== undefined) {
      const isSensitive = hasMark(arrayOf(node.beforeSensitive)[from])
      const side: Side = isSensitive ? { kind: 'sensitive' } : sideOf(before[from])
      const path = joinPath(node.path, from)
      attributes.push({ path, before: side, after: side, movedTo: joinPath('', to), isChanged: true })
    } else
      collect(attributes, child({ ...node, before, after, unknown }, joinPath(node.path, to ?? from ?? 0), from, to))
  }
}

type ItemPair = { before?: number | undefined; after?: number | undefined; isMoved?: boolean }

/** Pairs the items of two lists by index; removed and added items that are equal have moved. */
function pairItems(before: string[], after: string[]): ItemPair[] {
  const pairs = alignedPairs(before, after)
  const removed = pairs.filter((pair) => pair.after === undefined).map((pair) => pair.before ?? 0)
  const added = pairs.filter((pair) => pair.before === undefined).map((pair) => pair.after ?? 0)
  const addedByText = Map.groupBy(added, (index) => after[index])
  const moves = new Map<number, number>()
  for (const from of removed) {
    const to = addedByText.get(before[from])?.shift()
    if (to !== undefined) moves.set(from, to)
  }
  const destinations = new Set(moves.values())
  const otherRemoved = removed.filter((index) => !moves.has(index))
  const otherAdded = added.filter((index) => !destinations.has(index))
  const result: ItemPair[] = pairs.filter((pair) => pair.before !== undefined && pair.after !== undefined)
  for (const [from, to] of moves) result.push({ before: from, after: to, isMoved: true })
  for (let at = 0; at < Math.max(otherRemoved.length, otherAdded.length); at += 1) {
    result.push({ before: otherRemoved[at], after: otherAdded[at] })
  }
  return result.toSorted((one, other) => (one.after ?? one.before ?? 0) - (other.after ?? other.before ?? 0))
}

type Step = string | number | undefined

/** The node of a member, whose key or index may differ between the sides. */
function child(node: ValueNode, path: string, before: Step, after: Step): ValueNode {
  return {
    path,
    before: member(node.before, before),
    after: member(node.after, after),
    unknown: member(node.unknown, after),
    beforeSensitive: member(node.beforeSensitive, before),
    afterSensitive: member(node.afterSensitive, after),
  }
}

/** A null item of a list, which is a value, unlike a null attribute. */
const NULL_ITEM = Symbol('null')

function member(value: unknown, key: Step): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return undefined
  const item = Object.hasOwn(value, key) ? (value as Values)[key] : undefined
  return item === null && Array.isArray(value) ? NULL_ITEM : item
}

const NAME = /^[A-Za-z_][\w-]*$/

/** Appends a step to a path: `tags.env`, `tags["a b"]`, `ingress[0]`. */
function joinPath(path: string, step: string | number) {
  if (typeof step === 'number') return `${path}[${step}]`
  if (!NAME.test(step)) return `${path}[${JSON.stringify(step)}]`
  return path === '' ? step : `${path}.${step}`
}

function isWithin(path: string, outer: string) {
  return path === outer || (path.startsWith(outer) && /^[.[]/.test(path.slice(outer.length)))
}

function lineChanges(before: string, after: string) {
  const one = before.split('\n')
  const other = after.split('\n')
  return alignedPairs(one, other).map((pair) => ({
    sign: pair.before === undefined ? ('+' as const) : pair.after === undefined ? ('−' as const) : (' ' as const),
    text: (pair.before === undefined ? other[pair.after ?? 0] : one[pair.before]) ?? '',
  }))
}

function parseJson(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    const value = parseExact(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function sideOf(value: unknown): Side {
  if (isUnset(value)) return { kind: 'absent' }
  if (value === NULL_ITEM) return { kind: 'value', text: 'null' }
  if (typeof value === 'string') return { kind: 'value', text: value, isText: true }
  if (isWideNumber(value)) return { kind: 'value', text: value.digits }
  return { kind: 'value', text: printExact(value, 2) }
}

function isUnset(value: unknown) {
  return value === undefined || value === null
}

function isObject(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isWideNumber(value)
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Whether a structure of markers contains `true`. */
export function hasMark(marks: unknown): boolean {
  return marks === true || (typeof marks === 'object' && marks !== null && Object.values(marks).some(hasMark))
}

type Pair = { before?: number; after?: number }

/** Longer sequences are compared only from both ends, since the comparison takes quadratic time. */
const MAX_LENGTH = 1500

/** Aligns two sequences by index: equal items are paired, others have one side only. */
function alignedPairs(before: readonly string[], after: readonly string[]): Pair[] {
  let start = 0
  while (start < before.length && start < after.length && before[start] === after[start]) start += 1
  let end = 0
  const shorter = Math.min(before.length, after.length) - start
  while (end < shorter && before[before.length - 1 - end] === after[after.length - 1 - end]) end += 1
  const one = before.slice(start, before.length - end)
  const other = after.slice(start, after.length - end)
  const middle =
    one.length > MAX_LENGTH || other.length > MAX_LENGTH ? unpaired(one.length, other.length) : pairCommon(one, other)
  const both = (offset: number, length: number, shift: number) =>
    Array.from({ length }, (_, index) => ({ before: offset + index, after: offset + index + shift }))
  return [
    ...both(0, start, 0),
    ...middle.map((pair) => ({
      ...(pair.before !== undefined && { before: pair.before + start }),
      ...(pair.after !== undefined && { after: pair.after + start }),
    })),
    ...both(before.length - end, end, after.length - before.length),
  ]
}

function unpaired(before: number, after: number): Pair[] {
  return [
    ...Array.from({ length: before }, (_, index) => ({ before: index })),
    ...Array.from({ length: after }, (_, index) => ({ after: index })),
  ]
}

/** Pairs the longest common subsequence. */
function pairCommon(before: readonly string[], after: readonly string[]): Pair[] {
  const width = after.length + 1
  const lengths = new Uint16Array((before.length + 1) * width)
  for (let i = before.length - 1; i >= 0; i -= 1) {
    for (let j = after.length - 1; j >= 0; j -= 1) {
      lengths[i * width + j] =
        before[i] === after[j]
          ? (lengths[(i + 1) * width + j + 1] ?? 0) + 1
          : Math.max(lengths[(i + 1) * width + j] ?? 0, lengths[i * width + j + 1] ?? 0)
    }
  }
  const pairs: Pair[] = []
  let i = 0
  let j = 0
  while (i < before.length && j < after.length) {
    if (before[i] === after[j]) pairs.push({ before: i++, after: j++ })
    else if ((lengths[(i + 1) * width + j] ?? 0) >= (lengths[i * width + j + 1] ?? 0)) pairs.push({ before: i++ })
    else pairs.push({ after: j++ })
  }
  while (i < before.length) pairs.push({ before: i++ })
  while (j < after.length) pairs.push({ after: j++ })
  return pairs
}
