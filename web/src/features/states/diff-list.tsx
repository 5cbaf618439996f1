import { printExact } from '@groundstate/contract/exact-json'
import { ChevronRight, CircleMinus, CirclePlus, PencilLine } from 'lucide-react'
import { useState } from 'react'
import { type AttributeChange, AttributeDiff, type Side } from '../../components/attribute-diff.tsx'
import { Card } from '../../components/card.tsx'
import { Notice } from '../../components/feedback.tsx'
import { FilterChips, SearchField } from '../../components/filters.tsx'
import { counted } from '../../components/numbers.ts'
import { Badge, TONE_TEXT } from '../../components/status.tsx'
import { VirtualRows } from '../../components/virtual-rows.tsx'
import { useStatesSearch } from './navigation.tsx'
import type { StateDiff } from './states.ts'
import { byModule } from './version-text.ts'

export type ChangedResource = StateDiff['resources'][number]
type Action = ChangedResource['action']
type DiffRow = { kind: 'module'; module: string; count: number } | { kind: 'resource'; resource: ChangedResource }

const ACTIONS = {
  added: { text: 'added', tone: 'good', icon: CirclePlus },
  changed: { text: 'changed', tone: 'warn', icon: PencilLine },
  removed: { text: 'removed', tone: 'bad', icon: CircleMinus },
} as const satisfies Record<Action, unknown>

/** Longer lists are initially collapsed. */
const MAX_EXPANDED = 20

/** The changes between two states: resources by module, then outputs. */
export function DiffList({ diff }: { diff: StateDiff }) {
  const [{ q = '' }, setSearch] = useStatesSearch()
  const [action, setAction] = useState<string>()
  const equality = equalityText(diff)
  if (equality !== undefined) return <Notice>{equality}</Notice>

  const rows = diffRows(diff.resources, { q, action })
  const outputs = diff.outputs.filter(
    (output) =>
      (action === undefined || output.action === action) && output.name.toLowerCase().includes(q.trim().toLowerCase()),
  )
  const { from, to, counts } = diff
  const chips = (['added', 'changed', 'removed'] as const).map((value) => ({
    value,
    ...ACTIONS[value],
    count: counts.resources[value] + counts.outputs[value],
  }))
  return (
    <div className="space-y-3">
      <div className="flex flex-wrap items-center gap-2">
        <FilterChips
          label="Filter by action"
          chips={chips.filter(({ count }) => count > 0)}
          chosen={new Set(action === undefined ? [] : [action])}
          onToggle={(value) => setAction(value === action ? undefined : value)}
        />
        <SearchField
          label="Search changes"
          value={q}
          onChange={(text) => setSearch({ q: text || undefined })}
          className="w-full sm:w-64"
        />
      </div>
      {from && from.lineage !== to.lineage && (
        <Notice tone="warn">
          These states have different lineages, so they are unrelated: equal addresses may refer to different objects.
        </Notice>
      )}
      {diff.truncated && (
        <Notice tone="warn">
          There are too many changes to list all of them. The counts include all changes, the lists and the search only
          the first ones.
        </Notice>
      )}
      {rows.length === 0 && outputs.length === 0 && <Notice>No matching changes</Notice>}
      {rows.length > 0 && <ResourceRows rows={rows} isExpanded={diff.resources.length <= MAX_EXPANDED} />}
      {outputs.length > 0 && (
        <Card title="Outputs" isFlush>
          <ul className="divide-y divide-line border-t border-line">
            {outputs.map((output) => (
              <li key={output.name}>
                <div className="flex flex-wrap items-center gap-2 px-3 py-1.5">
                  <ActionLabel action={output.action} />
                  <code className="font-medium">{output.name}</code>
                  {output.sensitive && <Badge>sensitive</Badge>}
                </div>
                <AttributeDiff label={`Changes to ${output.name}`} changes={stateAttributeChanges(output.attributes)} />
              </li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  )
}

function ResourceRows({ rows, isExpanded }: { rows: readonly DiffRow[]; isExpanded: boolean }) {
  // The resources that the user toggled. Kept here, since a long list unmounts rows that are not visible.
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  return (
    <VirtualRows
      label="Changed resources"
      rows={rows}
      maxStatic={80}
      rowHeight={36}
      keyOf={(row) =>
        row.kind === 'module' ? `module ${row.module}` : `${row.resource.action} ${row.resource.address}`
      }
      className="rounded-lg border border-line bg-paper"
      render={(row) =>
        row.kind === 'module' ? (
          <h3 className="flex gap-2 border-b border-line bg-ground px-3 py-1 font-medium">
            {row.module === 'root' ? 'Root module' : <code>{row.module}</code>}
            <span className="numeric font-normal text-dim">{counted(row.count, 'resource')}</span>
          </h3>
        ) : (
          <Resource
            resource={row.resource}
            isExpanded={isExpanded !== toggled.has(row.resource.address)}
            onToggle={() => setToggled(toggled.symmetricDifference(new Set([row.resource.address])))}
          />
        )
      }
    />
  )
}

type ResourceProps = { resource: ChangedResource; isExpanded: boolean; onToggle: () => void }

function Resource({ resource, isExpanded, onToggle }: ResourceProps) {
  const { address, action, attributes, provider, tainted } = resource
  const changes = [
    ...metaChange('(provider)', provider),
    ...metaChange('(tainted)', tainted),
    ...stateAttributeChanges(attributes),
  ]
  return (
    <div className="border-b border-line">
      <button
        type="button"
        aria-expanded={isExpanded}
        onClick={onToggle}
        className="flex w-full cursor-pointer items-center gap-2 px-3 py-1.5 text-left hover:bg-hover"
      >
        <ChevronRight size={15} className={`shrink-0 text-dim ${isExpanded ? 'rotate-90' : ''}`} />
        <ActionLabel action={action} />
        <code className="min-w-0 flex-1 font-medium">{address}</code>
        <span className="numeric text-dim max-sm:hidden">{counted(changes.length, 'attribute')}</span>
      </button>
      {isExpanded && (
        <div className="border-t border-line">
          {changes.length === 0 ? (
            <p className="px-3 py-1 text-dim">Attributes not shown</p>
          ) : (
            <AttributeDiff label={`Changes to ${address}`} changes={changes} />
          )}
        </div>
      )}
    </div>
  )
}

function metaChange(
  path: string,
  change: { before: string | boolean; after: string | boolean } | undefined,
): AttributeChange[] {
  if (change === undefined) return []
  const side = (value: string | boolean) => ({ kind: 'value', text: String(value) }) as const
  return [{ path, before: side(change.before), after: side(change.after) }]
}

function ActionLabel({ action }: { action: Action }) {
  const { text, tone, icon: Icon } = ACTIONS[action]
  return (
    <span className={`inline-flex w-24 shrink-0 items-center gap-1.5 font-medium ${TONE_TEXT[tone]} max-sm:w-auto`}>
      <Icon size={15} />
      <span className="max-sm:sr-only">{text}</span>
    </span>
  )
}

/** The matching resources below their modules; the root module comes first. */
export function diffRows(
  resources: readonly ChangedResource[],
  { q, action }: { q: string; action: string | undefined },
) {
  const query = q.trim().toLowerCase()
  const matching = resources.filter(
    (resource) =>
      (action === undefined || resource.action === action) &&
      (resource.address.toLowerCase().includes(query) ||
        resource.attributes.some(({ path }) => path.toLowerCase().includes(query))),
  )
  const modules = [...Map.groupBy(matching, ({ module }) => module)].sort(([a], [b]) => byModule(a, b))
  return modules.flatMap(([module, own]): DiffRow[] => [
    { kind: 'module', module, count: own.length },
    ...own.map((resource) => ({ kind: 'resource', resource }) as const),
  ])
}

export function stateAttributeChanges(changes: ChangedResource['attributes']): AttributeChange[] {
  return changes.map(({ path, action, sensitive, before, after }) => {
    // Quotes distinguish a string from the other side's number.
    const isText = typeof before === typeof after || action !== 'changed'
    const side = (value: unknown, isAbsent: boolean): Side => {
      if (isAbsent) return { kind: 'absent' }
      if (sensitive) return { kind: 'sensitive' }
      if (isText && typeof value === 'string') return { kind: 'value', text: value === '' ? '""' : value, isText: true }
      return { kind: 'value', text: printExact(value, 2) }
    }
    return {
      path: path === '' ? 'value' : path,
      before: side(before, action === 'added'),
      after: side(after, action === 'removed'),
    }
  })
}

/** Describes two states with the same resources and outputs; undefined for any others. */
export function equalityText({ from, to, counts }: StateDiff): string | undefined {
  const hasChanges = [counts.resources, counts.outputs].some(
    ({ added, changed, removed }) => added + changed + removed > 0,
  )
  if (hasChanges) return undefined
  if (!from) return 'The state has no resources and no outputs.'
  const differences = [
    from.serial !== to.serial && 'serial',
    from.lineage !== to.lineage && 'lineage',
    from['engine-version'] !== to['engine-version'] && 'engine version',
  ].filter((difference) => difference !== false)
  const equality = 'Both states have the same resources and outputs'
  return differences.length === 0 ? `${equality}.` : `${equality}. Only these differ: ${differences.join(', ')}.`
}
