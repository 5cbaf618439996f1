import { getRouteApi } from '@tanstack/react-router'
import { ChevronRight, CircleMinus, CirclePlus, PencilLine } from 'lucide-react'
import { useState } from 'react'
import { AttributeDiff, type AttributeChange } from '../../components/attribute-diff.tsx'
import { Card } from '../../components/card.tsx'
import { Notice } from '../../components/feedback.tsx'
import { FilterChips, SearchField } from '../../components/filters.tsx'
import { counted } from '../../components/numbers.ts'
import { Badge, TONE_TEXT } from '../../components/status.tsx'
import { VirtualRows } from '../../components/virtual-rows.tsx'
import { type Action, attributeChanges, type ChangedResource, type DiffRow, diffRows, sameness } from './diff-rows.ts'
import type { StateDiff } from './states.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

const ACTIONS = {
  added: { text: 'added', tone: 'good', icon: CirclePlus },
  changed: { text: 'changed', tone: 'warn', icon: PencilLine },
  removed: { text: 'removed', tone: 'bad', icon: CircleMinus },
} as const satisfies Record<Action, unknown>

/** Longer lists are closed at first, and scroll in a pane of their own. */
const MOST_OPEN = 20
const MOST_PLAIN = 80

/** The changes between two states: resources below their modules, then outputs. */
export function DiffList({ diff }: { diff: StateDiff }) {
  const { q = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const [action, setAction] = useState<string>()
  const same = sameness(diff)
  if (same !== undefined) return <Notice>{same}</Notice>

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
          label="Kinds of changes"
          chips={chips.filter(({ count }) => count > 0)}
          chosen={new Set(action === undefined ? [] : [action])}
          onToggle={(value) => setAction(value === action ? undefined : value)}
        />
        <SearchField
          label="Search the changes"
          value={q}
          onChange={(text) =>
            void navigate({
              search: (before) => ({ ...before, q: text || undefined }),
              replace: true,
              resetScroll: false,
            })
          }
          className="w-full sm:w-64"
        />
      </div>
      {from && from.lineage !== to.lineage && (
        <Notice tone="warn">
          The states have different lineages: one does not continue the other. Resources of the same address may be
          other things.
        </Notice>
      )}
      {diff.truncated && (
        <Notice tone="warn">
          There are too many changes to show all of them. The counts are of all, the lists and the search of the first
          ones.
        </Notice>
      )}
      {rows.length === 0 && outputs.length === 0 && <Notice>No change matches.</Notice>}
      <Rows rows={rows} isOpen={diff.resources.length <= MOST_OPEN} />
      {outputs.length > 0 && (
        <Card title="Outputs" isFlush>
          <ul className="divide-y divide-line border-t border-line">
            {outputs.map((output) => (
              <li key={output.name}>
                <div className="flex flex-wrap items-center gap-2 px-3 py-1.5">
                  <ActionSign action={output.action} />
                  <code className="font-medium">{output.name}</code>
                  {output.sensitive && <Badge>sensitive</Badge>}
                </div>
                <AttributeDiff label={`Changes of ${output.name}`} changes={attributeChanges(output.attributes)} />
              </li>
            ))}
          </ul>
        </Card>
      )}
    </div>
  )
}

function Rows({ rows, isOpen }: { rows: readonly DiffRow[]; isOpen: boolean }) {
  // Which resources are not as they are at first: in a long list a row is drawn anew whenever it comes into sight.
  const [turned, setTurned] = useState<ReadonlySet<string>>(new Set())
  if (rows.length === 0) return null
  const render = (row: DiffRow) =>
    row.kind === 'module' ? (
      <h3 className="flex gap-2 border-b border-line bg-ground px-3 py-1 font-medium">
        {row.module === 'root' ? 'Root module' : <code>{row.module}</code>}
        <span className="numeric font-normal text-dim">{counted(row.count, 'resource')}</span>
      </h3>
    ) : (
      <Resource
        resource={row.resource}
        isOpen={isOpen !== turned.has(row.resource.address)}
        onToggle={() => setTurned(turned.symmetricDifference(new Set([row.resource.address])))}
      />
    )
  const keyOf = (row: DiffRow) =>
    row.kind === 'module' ? `module ${row.module}` : `${row.resource.action} ${row.resource.address}`
  if (rows.length <= MOST_PLAIN)
    return (
      <div className="overflow-hidden rounded-lg border border-line bg-paper">
        {rows.map((row) => (
          <div key={keyOf(row)}>{render(row)}</div>
        ))}
      </div>
    )
  return (
    <VirtualRows
      label="Changed resources"
      count={rows.length}
      rowHeight={36}
      keyOf={(at) => {
        const row = rows[at]
        return row ? keyOf(row) : at
      }}
      className="max-h-[75vh] rounded-lg border border-line bg-paper"
      render={(at) => {
        const row = rows[at]
        return row && render(row)
      }}
    />
  )
}

function Resource({
  resource,
  isOpen,
  onToggle,
}: {
  resource: ChangedResource
  isOpen: boolean
  onToggle: () => void
}) {
  const { address, action, attributes } = resource
  const changes = [...headChanges(resource), ...attributeChanges(attributes)]
  return (
    <div className="border-b border-line">
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={onToggle}
        className="flex w-full cursor-pointer items-center gap-2 px-3 py-1.5 text-left hover:bg-hover"
      >
        <ChevronRight size={15} aria-hidden="true" className={`shrink-0 text-dim ${isOpen ? 'rotate-90' : ''}`} />
        <ActionSign action={action} />
        <code className="min-w-0 flex-1 font-medium">{address}</code>
        <span className="numeric text-dim max-sm:hidden">{counted(changes.length, 'attribute')}</span>
      </button>
      {isOpen && (
        <div className="border-t border-line">
          {changes.length === 0 ? (
            <p className="px-3 py-1 text-dim">Its attributes are not shown.</p>
          ) : (
            <AttributeDiff label={`Changes of ${address}`} changes={changes} />
          )}
        </div>
      )}
    </div>
  )
}

function ActionSign({ action }: { action: Action }) {
  const { text, tone, icon: Icon } = ACTIONS[action]
  return (
    <span className={`inline-flex w-24 shrink-0 items-center gap-1.5 font-medium ${TONE_TEXT[tone]} max-sm:w-auto`}>
      <Icon size={15} aria-hidden="true" />
      <span className="max-sm:sr-only">{text}</span>
    </span>
  )
}

/** What changed about a resource besides its attributes. */
function headChanges({ provider, tainted }: ChangedResource): AttributeChange[] {
  const change = (path: string, own: { before: string | boolean; after: string | boolean } | undefined) =>
    own === undefined
      ? []
      : [
          {
            path,
            before: { kind: 'value', text: String(own.before) } as const,
            after: { kind: 'value', text: String(own.after) } as const,
          },
        ]
  return [...change('(provider)', provider), ...change('(tainted)', tainted)]
}
