import { type SensitiveTexts, holdsSensitiveValue } from '@groundstate/contract/sensitive-values'
import { type AttributeChange, shortened } from './attribute-diff.ts'
import type { StateDiff } from './state-diff.ts'

/** A diff whose changes with the value of a sensitive variable are marked sensitive, without their values. */
export function maskedDiff(diff: StateDiff, texts: SensitiveTexts): StateDiff {
  // A diff has the beginning of a long text.
  const shown = new Set([...texts].map((text) => String(shortened(text))))
  const masked = <Item extends { attributes: AttributeChange[] }>(item: Item): Item => ({
    ...item,
    attributes: item.attributes.map((change) => maskedChange(change, shown)),
  })
  return { ...diff, resources: diff.resources.map(masked), outputs: diff.outputs.map(masked) }
}

function maskedChange(change: AttributeChange, texts: SensitiveTexts): AttributeChange {
  const { path, action, before, after } = change
  const isMasked = [before, after].some((side) => holdsSensitiveValue(side, texts) || isCutOff(side, texts))
  return isMasked ? { path, action, sensitive: true } : change
}

/** A string in JSON, or the beginning of one that is cut off. */
const STRING = /"((?:\\.|[^"\\])*)("|…$)/g

/** Whether a long list or object, of which a diff has the beginning of the JSON, contains a sensitive text or the beginning of one. */
function isCutOff(side: unknown, texts: SensitiveTexts) {
  if (typeof side !== 'string' || !/^[[{]/.test(side) || !side.endsWith('…')) return false
  return [...side.matchAll(STRING)].some(([, text = '', end]) =>
    end === '"'
      ? texts.has(String(JSON.parse(`"${text}"`)))
      : text !== '' && [...texts].some((one) => JSON.stringify(one).startsWith(`"${text}`)),
  )
}
