import { readBoolean, readList } from '../../../http/query.ts'
import type { TagPair, WorkspaceFilter } from './filter-store.ts'

/**
 * The tags that a list asks for: `search[tags]` names keys, and `filter[tagged][0][key]` with
 * `filter[tagged][0][value]` pairs. The command lines send both, with an empty value for a key that may have any;
 * `filter[tag-value-default-null]` makes such a key mean one without a value.
 */
export function readTagged(query: Record<string, unknown>): WorkspaceFilter['tagged'] {
  const pairs = new Map<string, { key?: string; value?: string }>()
  for (const [name, given] of Object.entries(query)) {
    const match = /^filter\[tagged\]\[(\w*)\]\[(key|value)\]$/.exec(name)
    const text = [given].flat().at(-1)
    if (!match || typeof text !== 'string') continue
    const [, index = '', part] = match
    pairs.set(index, { ...pairs.get(index), [part === 'key' ? 'key' : 'value']: text })
  }
  const valueless = readBoolean(query, 'filter[tag-value-default-null]') ?? false
  const wanted: TagPair[] = [...pairs.values()].flatMap(({ key, value }) =>
    key ? [{ key, value: value || (valueless ? '' : null) }] : [],
  )
  const union = readBoolean(query, 'filter[tag-union]') ?? false
  // A key that stands in a pair as well is asked for already.
  const keys = readList(query, 'search[tags]') ?? []
  const rest = new Set(keys.filter((key) => union || !wanted.some((pair) => pair.key === key)))
  wanted.push(...[...rest].map((key) => ({ key, value: null })))
  return wanted.length === 0 ? undefined : { pairs: wanted, union }
}
