import { ChevronRight, CircleCheck, CircleDashed, CircleX, LoaderCircle } from 'lucide-react'
import { memo, type ReactNode, useId, useMemo, useState } from 'react'
import { AttributeDiff } from '../../../components/attribute-diff.tsx'
import { counted } from '../../../components/numbers.ts'
import { Badge, StatusText, TONE_TEXT } from '../../../components/status.tsx'
import { duration, Elapsed } from '../../../components/time.tsx'
import { VirtualRows } from '../../../components/virtual-rows.tsx'
import type { Diagnostic } from '../log/diagnostic.ts'
import { Diagnostics } from '../log/diagnostics.tsx'
import { KIND_LOOKS } from './change-kind.ts'
import type { ResourceChange } from './plan-model.ts'
import type { RowProgress } from './row-progress.ts'
import { unknownWords } from './unknown-words.ts'

/** Longer lists get a pane of their own, in which only the rows in sight are drawn. */
const IN_PAGE = 100
const ROW_PX = 37

type Row = { kind: 'module'; module: string; count: number } | { kind: 'change'; change: ResourceChange }

type ChangeRowsProps = {
  label: string
  changes: readonly ResourceChange[]
  opened: ReadonlySet<string>
  onToggle: (key: string) => void
  /** How far the apply is with a resource; undefined before the apply. */
  progressOf?: ((change: ResourceChange) => RowProgress | undefined) | undefined
  diagnosticsOf?: ((change: ResourceChange) => readonly Diagnostic[]) | undefined
}

/** The changes of resources, grouped by module. */
export function ChangeRows({ label, changes, opened, onToggle, progressOf, diagnosticsOf }: ChangeRowsProps) {
  const rows = useMemo(() => rowsOf(changes), [changes])
  const render = (row: Row) =>
    row.kind === 'module' ? (
      <ModuleRow module={row.module} count={row.count} />
    ) : (
      <ChangeRow
        change={row.change}
        isOpen={opened.has(row.change.key)}
        onToggle={onToggle}
        progress={progressOf?.(row.change)}
        diagnostics={diagnosticsOf?.(row.change) ?? NO_DIAGNOSTICS}
      />
    )
  if (rows.length <= IN_PAGE) {
    return (
      <div role="region" aria-label={label}>
        {rows.map((row) => (
          <div key={keyOf(row)}>{render(row)}</div>
        ))}
      </div>
    )
  }
  return (
    <VirtualRows
      label={label}
      count={rows.length}
      rowHeight={ROW_PX}
      keyOf={(index) => (rows[index] ? keyOf(rows[index]) : index)}
      className="h-[70vh] overscroll-contain"
      render={(index) => rows[index] && render(rows[index])}
    />
  )
}

const NO_DIAGNOSTICS: readonly Diagnostic[] = []

function keyOf(row: Row) {
  return row.kind === 'module' ? `module ${row.module}` : row.change.key
}

/** The root module comes first, others in the order of their names; without modules there is nothing to group. */
function rowsOf(changes: readonly ResourceChange[]): Row[] {
  const modules = Map.groupBy(changes, ({ module }) => module)
  const isGrouped = modules.size > 1 || !modules.has('')
  return [...modules]
    .toSorted(([one], [other]) => (one < other ? -1 : 1))
    .flatMap(([module, own]) => [
      ...(isGrouped ? [{ kind: 'module' as const, module, count: own.length }] : []),
      ...own.map((change) => ({ kind: 'change' as const, change })),
    ])
}

function ModuleRow({ module, count }: { module: string; count: number }) {
  return (
    <h3 className="flex flex-wrap items-baseline gap-x-2 border-b border-line bg-ground px-4 py-1.5 font-medium">
      {module === '' ? 'Root module' : <code>{module}</code>}
      <span className="font-normal text-dim">{counted(count, 'resource')}</span>
    </h3>
  )
}

type ChangeRowProps = {
  change: ResourceChange
  isOpen: boolean
  onToggle: (key: string) => void
  progress: RowProgress | undefined
  diagnostics: readonly Diagnostic[]
}

const ChangeRow = memo(function ChangeRow({ change, isOpen, onToggle, progress, diagnostics }: ChangeRowProps) {
  const id = useId()
  const { icon: Icon, tone, word } = KIND_LOOKS[change.kind]
  return (
    <div className="border-b border-line">
      <button
        type="button"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        onClick={() => onToggle(change.key)}
        className="flex w-full cursor-pointer flex-wrap items-center gap-x-2 gap-y-0.5 px-3 py-2 text-left hover:bg-hover"
      >
        <ChevronRight size={15} aria-hidden="true" className={`shrink-0 text-dim ${isOpen ? 'rotate-90' : ''}`} />
        <Icon size={15} aria-hidden="true" className={`shrink-0 ${TONE_TEXT[tone]}`} />
        <code className="min-w-0 flex-1 basis-48">{change.localAddress}</code>
        {change.isDeferred && <Badge tone="warn">deferred</Badge>}
        {change.isImport && <Badge tone="busy">import</Badge>}
        {change.isMove && <Badge tone="busy">move</Badge>}
        <span className="ml-auto flex items-center gap-2">
          {progress ? (
            <ProgressText progress={progress} change={change} />
          ) : (
            <span className={TONE_TEXT[tone]}>
              {change.isDrift && change.kind === 'destroy'
                ? 'deleted outside'
                : change.isDrift
                  ? 'changed outside'
                  : word}
            </span>
          )}
        </span>
      </button>
      {(isOpen || diagnostics.length > 0) && (
        <div id={id} className="space-y-2 pb-3 pl-3 sm:pl-8">
          {diagnostics.length > 0 && (
            <div className="pr-3">
              <Diagnostics diagnostics={diagnostics} />
            </div>
          )}
          {isOpen && <Details change={change} unknownText={unknownWords(progress?.state)} />}
        </div>
      )}
    </div>
  )
})

const VERBS = {
  create: 'creating',
  update: 'updating',
  destroy: 'destroying',
  read: 'reading',
  import: 'importing',
  other: 'working',
} as const

function ProgressText({ progress, change }: { progress: RowProgress; change: ResourceChange }) {
  if (progress.state === 'running') {
    return (
      <StatusText tone="busy" icon={LoaderCircle} isBusy>
        {VERBS[progress.action]}
        <Elapsed from={new Date(progress.since).toISOString()} />
      </StatusText>
    )
  }
  if (progress.state === 'done') {
    return (
      <StatusText tone="good" icon={CircleCheck}>
        {KIND_LOOKS[change.kind].done}
        {progress.seconds !== undefined && (
          <span className="numeric font-normal text-dim">{duration(progress.seconds * 1000)}</span>
        )}
      </StatusText>
    )
  }
  if (progress.state === 'failed') {
    return (
      <StatusText tone="bad" icon={CircleX}>
        failed
      </StatusText>
    )
  }
  return (
    <StatusText tone="quiet" icon={CircleDashed}>
      {progress.state === 'waiting' ? 'waiting' : `not ${KIND_LOOKS[change.kind].done}`}
    </StatusText>
  )
}

function Details({ change, unknownText }: { change: ResourceChange; unknownText: string }) {
  const { changed, unchanged } = change.attributes()
  return (
    <>
      {change.notes.length > 0 && (
        <ul className="px-3 text-dim">
          {change.notes.map((note) => (
            <li key={note}>{note}</li>
          ))}
        </ul>
      )}
      {changed.length > 0 ? (
        <AttributeDiff label={`Changes of ${change.address}`} changes={changed} unknownText={unknownText} />
      ) : (
        <p className="px-3 text-dim">No attribute changes.</p>
      )}
      {unchanged.length > 0 && (
        <Unchanged count={unchanged.length}>
          <AttributeDiff label={`Unchanged attributes of ${change.address}`} changes={unchanged} />
        </Unchanged>
      )}
    </>
  )
}

function Unchanged({ count, children }: { count: number; children: ReactNode }) {
  const [isOpen, setIsOpen] = useState(false)
  return (
    <div>
      <button
        type="button"
        aria-expanded={isOpen}
        onClick={() => setIsOpen(!isOpen)}
        className="ml-1.5 inline-flex cursor-pointer items-center gap-1 rounded px-1.5 py-0.5 text-dim hover:bg-hover"
      >
        <ChevronRight size={14} aria-hidden="true" className={isOpen ? 'rotate-90' : ''} />
        {count.toLocaleString('en')} unchanged
      </button>
      {isOpen && children}
    </div>
  )
}
