import { isSameJson, isWideNumber, parseExact, printExact } from '@groundstate/contract/exact-json'
import type { AttributeChange, Side } from '../../../components/attribute-diff.tsx'
import { isWithin, pathOf, pathWith } from './change-path.ts'
import { alignedPairs } from './sequence-diff.ts'

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
/** One place: its values, and what is said about them. */
type Place = {
  path: string
  before: unknown
  after: unknown
  unknown: unknown
  beforeSensitive: unknown
  afterSensitive: unknown
}

/**
 * The attributes of a change, flattened to places such as `tags.env`. An attribute that is null counts as not set, as
 * it does for the engine; an item of a list that is null is one.
 */
export function attributeChanges(
  change: PlannedChange,
  name = '',
): { changed: AttributeChange[]; unchanged: AttributeChange[] } {
  const found: Found[] = []
  collect(found, {
    path: name,
    before: change.before,
    after: change.after,
    unknown: change.after_unknown,
    beforeSensitive: change.before_sensitive,
    afterSensitive: change.after_sensitive,
  })
  const replacing = (change.replace_paths ?? []).map(pathOf)
  const changed = found.filter(isChange)
  return {
    changed: changed.map((attribute) => {
      const forces = replacing.some((path) => isWithin(attribute.path, path) || isWithin(path, attribute.path))
      return forces ? { ...attribute, forcesReplacement: true } : attribute
    }),
    unchanged: found.filter((attribute) => !isChange(attribute)),
  }
}

/** Whether a sensitive value changes is told by more than its sides. */
type Found = AttributeChange & { isChanged?: boolean }

function isChange({ before, after, isChanged, movedTo }: Found) {
  if (isChanged !== undefined) return isChanged
  if (movedTo !== undefined || before.kind !== after.kind) return true
  return before.kind === 'value' && after.kind === 'value' && before.text !== after.text
}

function collect(found: Found[], place: Place) {
  const { path, before, after, unknown, beforeSensitive, afterSensitive } = place
  if (beforeSensitive === true || afterSensitive === true) return collectSensitive(found, place)
  if (unknown === true) return void found.push({ path, before: sideOf(before), after: { kind: 'unknown' } })
  const oneIsArray = Array.isArray(before) || Array.isArray(after)
  if (
    oneIsArray &&
    isArrayOrNothing(before) &&
    isArrayOrNothing(after) &&
    (unknown === undefined || !isValues(unknown))
  ) {
    const items = Math.max(lengthOf(before), lengthOf(after), lengthOf(unknown))
    if (items > 0) return collectItems(found, place)
  }
  const oneIsObject = isValues(before) || isValues(after) || (isValues(unknown) && isEmpty(before) && isEmpty(after))
  if (oneIsObject && isValuesOrNothing(before) && isValuesOrNothing(after)) {
    const keys = new Set([...keysOf(before), ...keysOf(after), ...keysOf(unknown)])
    if (keys.size > 0) {
      for (const key of keys) collect(found, inner(place, { path: pathWith(path, key), key, before: key, after: key }))
      return undefined
    }
  }
  if (typeof before === 'string' && typeof after === 'string' && before !== after) {
    const inside = bothJson(before, after)
    if (inside) {
      const members: Found[] = []
      collect(members, { ...NOTHING_SAID, path, ...inside })
      if (members.some(isChange)) return void found.push(...members)
    }
    const whole: Found = { path, before: sideOf(before), after: sideOf(after) }
    if (inside && isSameJson(inside.before, inside.after)) whole.isFormattingOnly = true
    if (before.includes('\n') || after.includes('\n')) whole.lines = lineChanges(before, after)
    return void found.push(whole)
  }
  const sides = { before: sideOf(before), after: sideOf(after) }
  if (sides.before.kind !== 'absent' || sides.after.kind !== 'absent') found.push({ path, ...sides })
  return undefined
}

const NOTHING_SAID = { unknown: undefined, beforeSensitive: undefined, afterSensitive: undefined }

function collectSensitive(found: Found[], { path, before, after, unknown }: Place) {
  const side = (value: unknown): Side => (isEmpty(value) ? { kind: 'absent' } : { kind: 'sensitive' })
  const sides = { before: side(before), after: unknown === true ? ({ kind: 'unknown' } as const) : side(after) }
  if (sides.before.kind === 'absent' && sides.after.kind === 'absent') return
  found.push({ path, ...sides, isChanged: unknown === true || !isSameJson(before, after) })
}

/** Items that are equal belong together wherever they stand; others are compared in the order of what lies between. */
function collectItems(found: Found[], place: Place) {
  const before = Array.isArray(place.before) ? (place.before as unknown[]) : []
  const known = Array.isArray(place.after) ? (place.after as unknown[]) : []
  const unknown = Array.isArray(place.unknown) ? (place.unknown as unknown[]) : []
  const after = Array.from({ length: Math.max(known.length, unknown.length) }, (_, index) => known[index])
  const said = (marks: unknown, index: number) => (Array.isArray(marks) ? (marks as unknown[])[index] : undefined)
  const textsBefore = before.map((item, index) => printExact([item, said(place.beforeSensitive, index) ?? null]))
  const textsAfter = after.map((item, index) =>
    hasUnknown(unknown[index]) ? `unknown ${index}` : printExact([item, said(place.afterSensitive, index) ?? null]),
  )
  const pairs = matched(alignedPairs(textsBefore, textsAfter), textsBefore, textsAfter)
  for (const pair of pairs) {
    const index = pair.after ?? pair.before ?? 0
    const path = pathWith(place.path, pair.before ?? index)
    const isMove = pair.before !== undefined && pair.after !== undefined && pair.isMoved === true
    if (isMove) {
      const side = sideOf(before[pair.before ?? 0])
      const isSecret = hasMark(said(place.beforeSensitive, pair.before ?? 0))
      const shown: Side = isSecret ? { kind: 'sensitive' } : side
      found.push({ path, before: shown, after: shown, movedTo: pathWith('', pair.after ?? 0), isChanged: true })
      continue
    }
    const own = { ...place, before, after, unknown }
    collect(
      found,
      inner(own, { path: pathWith(place.path, index), key: index, before: pair.before, after: pair.after }),
    )
  }
}

type ItemPair = { before?: number | undefined; after?: number | undefined; isMoved?: boolean }

function matched(pairs: readonly { before?: number; after?: number }[], before: string[], after: string[]): ItemPair[] {
  const gone = pairs.filter((pair) => pair.after === undefined).map((pair) => pair.before ?? 0)
  const come = pairs.filter((pair) => pair.before === undefined).map((pair) => pair.after ?? 0)
  const places = Map.groupBy(come, (index) => after[index])
  const moves = new Map<number, number>()
  for (const from of gone) {
    const to = places.get(before[from])?.shift()
    if (to !== undefined) moves.set(from, to)
  }
  const taken = new Set(moves.values())
  const restGone = gone.filter((index) => !moves.has(index))
  const restCome = come.filter((index) => !taken.has(index))
  const result: ItemPair[] = pairs.filter((pair) => pair.before !== undefined && pair.after !== undefined)
  for (const [from, to] of moves) result.push({ before: from, after: to, isMoved: true })
  for (let at = 0; at < Math.max(restGone.length, restCome.length); at += 1) {
    result.push({ before: restGone[at], after: restCome[at] })
  }
  return result.toSorted((one, other) => (one.after ?? one.before ?? 0) - (other.after ?? other.before ?? 0))
}

/** The place of a member. */
function inner(
  { before, after, unknown, beforeSensitive, afterSensitive }: Place,
  at: { path: string; key: string | number; before: string | number | undefined; after: string | number | undefined },
): Place {
  return {
    path: at.path,
    before: member(before, at.before),
    after: member(after, at.after),
    unknown: member(unknown, at.after),
    beforeSensitive: member(beforeSensitive, at.before),
    afterSensitive: member(afterSensitive, at.after),
  }
}

/** An item of a list that is null, which is something; an attribute that is null is not. */
const NULL_ITEM = Symbol('null')

function member(value: unknown, key: string | number | undefined): unknown {
  if (key === undefined || typeof value !== 'object' || value === null) return undefined
  const found = Object.hasOwn(value, key) ? (value as Values)[key] : undefined
  return found === null && Array.isArray(value) ? NULL_ITEM : found
}

function lineChanges(before: string, after: string) {
  const one = before.split('\n')
  const other = after.split('\n')
  return alignedPairs(one, other).map((pair) => ({
    sign: pair.before === undefined ? ('+' as const) : pair.after === undefined ? ('−' as const) : (' ' as const),
    text: (pair.before === undefined ? other[pair.after ?? 0] : one[pair.before]) ?? '',
  }))
}

/** Both texts as objects or lists, where they are JSON: policies are compared by their members. */
function bothJson(before: string, after: string) {
  const [one, other] = [jsonIn(before), jsonIn(after)]
  return one !== undefined && other !== undefined && Array.isArray(one) === Array.isArray(other)
    ? { before: one, after: other }
    : undefined
}

function jsonIn(text: string): object | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined
  try {
    const value = parseExact(text)
    return typeof value === 'object' && value !== null ? value : undefined
  } catch {
    return undefined
  }
}

function sideOf(value: unknown): Side {
  if (value === undefined || value === null) return { kind: 'absent' }
  if (value === NULL_ITEM) return { kind: 'value', text: 'null' }
  if (typeof value === 'string') return { kind: 'value', text: value, isText: true }
  if (isWideNumber(value)) return { kind: 'value', text: value.digits }
  return { kind: 'value', text: printExact(value, 2) }
}

function isEmpty(value: unknown) {
  return value === undefined || value === null
}

function isValues(value: unknown): value is Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !isWideNumber(value)
}

function isValuesOrNothing(value: unknown) {
  return isValues(value) || isEmpty(value)
}

function isArrayOrNothing(value: unknown) {
  return Array.isArray(value) || isEmpty(value)
}

function keysOf(value: unknown) {
  return isValues(value) ? Object.keys(value) : []
}

function lengthOf(value: unknown) {
  return Array.isArray(value) ? value.length : 0
}

/** Whether something in a structure of marks is marked. */
export function hasMark(marks: unknown): boolean {
  return marks === true || (typeof marks === 'object' && marks !== null && Object.values(marks).some(hasMark))
}

function hasUnknown(unknown: unknown) {
  return hasMark(unknown)
}
