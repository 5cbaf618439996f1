import { type SensitiveTexts, holdsSensitiveValue } from '@groundstate/contract/sensitive-values'
import { type AttributeChange, shortened } from './attribute-diff.ts'
import { type KnownValues, recognised } from './known-values.ts'
import type { StateDiff } from './state-diff.ts'

/** A diff whose changes with the value of a sensitive variable are marked sensitive, without their values. */
export function maskedDiff(diff: StateDiff, values: KnownValues): StateDiff {
  // A diff has the beginning of a long text.
  const texts = new Set([...values.texts].map((text) => String(shortened(text))))
  const scope = { keys: recognised(values), texts, hasFormer: values.former !== undefined }
  const shown = recognised({ ...values, texts })
  const masked = <Item extends { attributes: AttributeChange[] }>(item: Item, isOutput: boolean): Item => ({
    ...item,
    attributes: maskedKeys(item.attributes, scope.keys, isOutput).map((change) => maskedChange(change, shown, scope)),
  })
  return {
    ...diff,
    resources: diff.resources.map((resource) => masked(resource, false)),
    outputs: diff.outputs.map((output) => masked(output, true)),
  }
}

/** Changes where those in an object with a sensitive key are one change of the object, since their paths contain the key. */
function maskedKeys(changes: readonly AttributeChange[], texts: SensitiveTexts, isOutput: boolean) {
  const objects = new Map<string, AttributeChange>()
  return changes.flatMap((change): AttributeChange[] => {
    const path = keyedObject(change.path, texts, isOutput)
    if (path === undefined) return [change]
    const { action } = change
    const known = objects.get(path)
    if (known) {
      if (known.action !== action) known.action = 'changed'
      return []
    }
    const object: AttributeChange = { path, action, sensitive: true }
    objects.set(path, object)
    return [object]
  })
}

/** A step of a path: a quoted key, an index or a name. */
const STEP = /\[(?:("(?:\\.|[^"\\])*")|\d+)\]|\.?([^.[]+)/g

/** Path of the outermost object with a sensitive key; undefined without one. A path into a resource begins with an attribute's name, not a key. */
function keyedObject(path: string, texts: SensitiveTexts, isOutput: boolean) {
  for (const { 1: quoted, 2: name, index } of path.matchAll(STEP)) {
    const key = quoted === undefined ? name : String(JSON.parse(quoted))
    if (key !== undefined && (isOutput || index > 0) && texts.has(key)) return path.slice(0, index)
  }
  return undefined
}

type Cut = { texts: ReadonlySet<string>; hasFormer: boolean }

function maskedChange(change: AttributeChange, shown: SensitiveTexts, cut: Cut): AttributeChange {
  const { path, action, before, after } = change
  const isMasked = [before, after].some((side) => holdsSensitiveValue(side, shown) || isCutOff(side, shown, cut.texts))
  if (isMasked) return { path, action, sensitive: true }
  if (!cut.hasFormer) return change
  const sides = Object.entries({ before, after }).filter(([, side]) => side !== undefined)
  return { ...change, ...Object.fromEntries(sides.map(([name, side]) => [name, withoutCutText(side)])) }
}

/** A string in JSON, or the beginning of one that is cut off, perhaps within an escape sequence. */
const STRING = /"((?:\\.|[^"\\])*)("|\\?…$)/g

/** Whether a diff has the beginning of the JSON of a long list or object. */
function isBeginning(side: unknown): side is string {
  return typeof side === 'string' && /^[[{]/.test(side) && side.endsWith('…')
}

/** Whether a long list or object contains a sensitive text or the beginning of one. */
function isCutOff(side: unknown, shown: SensitiveTexts, texts: ReadonlySet<string>) {
  if (!isBeginning(side)) return false
  return [...side.matchAll(STRING)].some(([, text = '', end]) =>
    end === '"'
      ? shown.has(String(JSON.parse(`"${text}"`)))
      : text !== '' && [...texts].some((one) => JSON.stringify(one).startsWith(`"${text}`)),
  )
}

/** A long list or object without the text that is cut off: a digest does not reveal whether a former value begins with it. */
function withoutCutText(side: unknown) {
  if (!isBeginning(side)) return side
  const last = [...side.matchAll(STRING)].at(-1)
  return last && last[2] !== '"' ? `${side.slice(0, last.index)}"…` : side
}
