import { printExact } from '@groundstate/contract/exact-json'
import { ArrowRight, ChevronRight, CircleMinus, CirclePlus, PencilLine } from 'lucide-react'
import { useEffect, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { type AttributeChange, AttributeDiff, type Side } from '../../components/attribute-diff.tsx'
import { Card } from '../../components/card.tsx'
import { ErrorNote, loaded, Notice, Skeleton } from '../../components/feedback.tsx'
import { FilterChips, SearchField } from '../../components/filters.tsx'
import { moduleRows, ModuleRows } from '../../components/module-rows.tsx'
import { counted } from '../../components/numbers.ts'
import { usePageTitle } from '../../components/page.tsx'
import { Badge, TONE_TEXT } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { PanelHeader, StatesLink, useStatesSearch } from './navigation.tsx'
import { type AuthoredVersion, chronological, type StateDiff as Diff, useStateDiff, useStateVersion } from './states.ts'

/** The changes between two pinned versions. `from` may be `previous`: the version before `to`. */
export function Comparison({ from, to }: { from: string; to: string }) {
  const { workspace } = useOpenWorkspace()
  const [, setSearch] = useStatesSearch()
  const isPrevious = from === 'previous'
  const b = useStateVersion(to)
  const fromPrevious = useStateDiff(workspace.id, { from: undefined, to: isPrevious ? to : undefined })
  const a = useStateVersion(isPrevious ? undefined : from)
  const previous = fromPrevious.data?.relationships.from.data
  const failure = failureOf(a, b, fromPrevious)
  usePageTitle(`${workspace.attributes.name} · state comparison`)
  // Replaces `previous` in the URL, which also shows the pin.
  useEffect(() => {
    if (previous) setSearch({ from: previous.id })
  }, [setSearch, previous])

  if (failure)
    return (
      <div className="space-y-4">
        <PanelHeader title="Comparison" />
        <ErrorNote {...failure} />
      </div>
    )
  if (previous === null && b.data) return <FirstVersion only={b.data} />
  if (!a.data || !b.data) return <Skeleton rows={8} label="Comparing states" />
  return <Pair a={a.data} b={b.data} />
}

function Pair({ a, b }: { a: AuthoredVersion; b: AuthoredVersion }) {
  const { older, newer, isSwapped } = chronological(a.version, b.version)
  const [first, second] = isSwapped ? [b, a] : [a, b]
  const unreadable = [older, newer].filter(({ attributes }) => attributes.status !== 'finalized')
  const meta = (
    <span className="flex flex-wrap items-center gap-x-2">
      <VersionLink own={first} />
      <ArrowRight size={15} aria-label="to" />
      <VersionLink own={second} />
    </span>
  )
  return (
    <div className="space-y-4">
      <PanelHeader title="Comparison" meta={meta} />
      {isSwapped && <p className="text-dim">A is newer: the changes are shown from the older to the newer version.</p>}
      {unreadable.length === 0 ? (
        <StateDiff from={older.id} to={newer.id} />
      ) : (
        <Notice tone="warn">
          Cannot compare these versions: serial {unreadable.map(({ attributes }) => attributes.serial).join(' and ')}{' '}
          has no data. Open it for details.
        </Notice>
      )}
    </div>
  )
}

function FirstVersion({ only }: { only: AuthoredVersion }) {
  return (
    <div className="space-y-4">
      <PanelHeader title="Comparison" meta={<VersionLink own={only} />} />
      <Notice>There is no earlier version with data: everything is new.</Notice>
      <StateDiff from={undefined} to={only.id} />
    </div>
  )
}

export function StateDiff({ from, to }: { from: string | undefined; to: string }) {
  const { workspace } = useOpenWorkspace()
  const query = useStateDiff(workspace.id, { from, to })
  const { data, fallback } = loaded(query, { rows: 6, label: 'Comparing states' })
  return data ? <DiffList diff={data.attributes} /> : fallback
}

function VersionLink({ own: { id, version } }: { own: AuthoredVersion }) {
  return (
    <span className="text-dim">
      <StatesLink search={{ version: id }} className="numeric text-accent underline">
        serial {version.attributes.serial}
      </StatesLink>
      , <RelativeTime at={version.attributes['created-at']} />
    </span>
  )
}

export type ChangedResource = Diff['resources'][number]
type Action = ChangedResource['action']
const ACTIONS = {
  added: { text: 'added', tone: 'good', icon: CirclePlus },
  changed: { text: 'changed', tone: 'warn', icon: PencilLine },
  removed: { text: 'removed', tone: 'bad', icon: CircleMinus },
} as const satisfies Record<Action, unknown>

const MAX_EXPANDED = 20

function DiffList({ diff }: { diff: Diff }) {
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
          selected={new Set(action === undefined ? [] : [action])}
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
      {rows.length === 0 && outputs.length === 0 && <Notice>No changes match</Notice>}
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

type ResourceRowsProps = { rows: ReturnType<typeof diffRows>; isExpanded: boolean }

function ResourceRows({ rows, isExpanded }: ResourceRowsProps) {
  // The resources that the user toggled. Kept here, since a long list unmounts rows that are not visible.
  const [toggled, setToggled] = useState<ReadonlySet<string>>(new Set())
  return (
    <ModuleRows
      label="Changed resources"
      rows={rows}
      maxStatic={80}
      rowHeight={36}
      keyOf={({ action, address }) => `${action} ${address}`}
      className="rounded-lg border border-line bg-paper"
      render={(resource) => (
        <Resource
          resource={resource}
          isExpanded={isExpanded !== toggled.has(resource.address)}
          onToggle={() => setToggled(toggled.symmetricDifference(new Set([resource.address])))}
        />
      )}
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
          {changes.length === 0 && <p className="px-3 py-1 text-dim">Attributes not shown</p>}
          {changes.length > 0 && <AttributeDiff label={`Changes to ${address}`} changes={changes} />}
        </div>
      )}
    </div>
  )
}

type MetaChange = { before: string | boolean; after: string | boolean } | undefined

function metaChange(path: string, change: MetaChange): AttributeChange[] {
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

export function diffRows(resources: readonly ChangedResource[], { q, action }: DiffFilter) {
  const query = q.trim().toLowerCase()
  return moduleRows(
    resources.filter(
      (resource) =>
        (action === undefined || resource.action === action) &&
        [resource.address, ...resource.attributes.map(({ path }) => path)].some((text) =>
          text.toLowerCase().includes(query),
        ),
    ),
  )
}
type DiffFilter = { q: string; action: string | undefined }

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
export function equalityText({ from, to, counts }: Diff): string | undefined {
  if ([counts.resources, counts.outputs].flatMap(Object.values<number>).some((count) => count > 0)) return undefined
  if (!from) return 'The state has no resources and no outputs.'
  const differences = [
    from.serial !== to.serial && 'serial',
    from.lineage !== to.lineage && 'lineage',
    from['engine-version'] !== to['engine-version'] && 'engine version',
  ].filter((difference) => difference !== false)
  const equality = 'Both states have the same resources and outputs'
  return differences.length === 0 ? `${equality}.` : `${equality}. Only these differ: ${differences.join(', ')}.`
}
