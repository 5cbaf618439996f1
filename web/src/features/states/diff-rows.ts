import { printExact } from '@groundstate/contract/exact-json'
import type { AttributeChange, Side } from '../../components/attribute-diff.tsx'
import type { StateDiff } from './states.ts'

export type Action = 'added' | 'changed' | 'removed'
export type ChangedResource = StateDiff['resources'][number]
type Changes = ChangedResource['attributes']

/** A heading, or a resource below it. */
export type DiffRow =
  | { kind: 'module'; module: string; count: number }
  | { kind: 'resource'; resource: ChangedResource }

/** The resources that match, below the modules that they are in; the root module comes first. */
export function diffRows(
  resources: readonly ChangedResource[],
  { q, action }: { q: string; action: string | undefined },
) {
  const wanted = q.trim().toLowerCase()
  const byModule = new Map<string, ChangedResource[]>()
  for (const resource of resources) {
    if (action !== undefined && resource.action !== action) continue
    if (!matches(resource, wanted)) continue
    const own = byModule.get(resource.module)
    if (own) own.push(resource)
    else byModule.set(resource.module, [resource])
  }
  const modules = [...byModule].sort(([a], [b]) => Number(b === 'root') - Number(a === 'root') || a.localeCompare(b))
  return modules.flatMap(([module, own]): DiffRow[] => [
    { kind: 'module', module, count: own.length },
    ...own.map((resource) => ({ kind: 'resource', resource }) as const),
  ])
}

function matches({ address, attributes }: ChangedResource, wanted: string) {
  if (wanted === '' || address.toLowerCase().includes(wanted)) return true
  return attributes.some(({ path }) => path.toLowerCase().includes(wanted))
}

/** The changes as the component of the kit takes them. */
export function attributeChanges(changes: Changes): AttributeChange[] {
  return changes.map(({ path, action, sensitive, before, after }) => {
    // A text that looks like the number beside it is told by its quotes.
    const isText = typeof before === typeof after || action !== 'changed'
    return {
      path: path === '' ? 'value' : path,
      before: side(before, { isThere: action !== 'added', sensitive, isText }),
      after: side(after, { isThere: action !== 'removed', sensitive, isText }),
    }
  })
}

function side(
  value: unknown,
  { isThere, sensitive, isText }: { isThere: boolean; sensitive: boolean; isText: boolean },
): Side {
  if (!isThere) return { kind: 'absent' }
  if (sensitive) return { kind: 'sensitive' }
  if (isText && typeof value === 'string') return { kind: 'value', text: value === '' ? '""' : value, isText: true }
  return { kind: 'value', text: printExact(value, 2) }
}

/** What differs between two states besides resources and outputs, in a sentence; undefined when they do differ in these. */
export function sameness({ from, to, counts }: StateDiff): string | undefined {
  const changed = [counts.resources, counts.outputs].some(
    ({ added, changed: own, removed }) => added + own + removed > 0,
  )
  if (changed) return undefined
  if (!from) return 'The state has no resources and no outputs.'
  const differing = [
    from.serial !== to.serial && 'the serial',
    from.lineage !== to.lineage && 'the lineage',
    from['engine-version'] !== to['engine-version'] && 'the version of the engine',
  ].filter((part) => part !== false)
  const same = 'Both states have the same resources and outputs'
  return differing.length === 0
    ? `${same}.`
    : `${same}: only ${differing.join(' and ')} ${differing.length === 1 ? 'differs' : 'differ'}.`
}
