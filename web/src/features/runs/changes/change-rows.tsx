import { ArrowRightLeft, ChevronRight, Eye, LogOut, Minus, Pencil, Plus, RefreshCw, Shuffle } from 'lucide-react'
import { memo, useId, useMemo, useState } from 'react'
import { AttributeDiff } from '../../../components/attribute-diff.tsx'
import { moduleRows, ModuleRows } from '../../../components/module-rows.tsx'
import { Badge, OUTCOME_STYLE, type StatusStyle, StatusText, TONE_TEXT } from '../../../components/status.tsx'
import { duration, Elapsed } from '../../../components/time.tsx'
import type { Diagnostic } from '../log/diagnostic.ts'
import { Diagnostics } from '../log/diagnostics.tsx'
import { type RowProgress, unknownValueText } from './apply-progress.ts'
import type { ChangeKind, ResourceChange } from './plan-model.ts'

/** Text, icon and colour of each kind; `done` is the text after the apply. */
export const CHANGE_STYLE = {
  create: { text: 'create', done: 'created', icon: Plus, tone: 'good' },
  update: { text: 'update', done: 'updated', icon: Pencil, tone: 'warn' },
  replace: { text: 'replace', done: 'replaced', icon: RefreshCw, tone: 'bad' },
  destroy: { text: 'destroy', done: 'destroyed', icon: Minus, tone: 'bad' },
  read: { text: 'read', done: 'read', icon: Eye, tone: 'busy' },
  forget: { text: 'forget', done: 'forgotten', icon: LogOut, tone: 'warn' },
  none: { text: 'no change', done: 'state updated', icon: ArrowRightLeft, tone: 'quiet' },
} as const satisfies Record<ChangeKind, StatusStyle & { text: string; done: string }>

export const DRIFT_STYLE = { icon: Shuffle, tone: 'warn' } as const

type ChangeRowsProps = {
  label: string
  changes: readonly ResourceChange[]
  expanded: ReadonlySet<string>
  onToggle: (key: string) => void
  progressOf?: ((change: ResourceChange) => RowProgress | undefined) | undefined
  diagnosticsOf?: (change: ResourceChange) => readonly Diagnostic[] | undefined
  /** The run was canceled: diagnostics are shown on expanded rows only. */
  isInterrupted?: boolean
}

export function ChangeRows(props: ChangeRowsProps) {
  const { label, changes, expanded, onToggle, progressOf, diagnosticsOf, isInterrupted = false } = props
  const rows = useMemo(() => {
    const all = moduleRows(changes)
    // Without other modules, the root module has no heading.
    return changes.every(({ module }) => module === '') ? all.slice(1) : all
  }, [changes])
  return (
    <ModuleRows
      label={label}
      rows={rows}
      maxStatic={100}
      rowHeight={37}
      keyOf={({ key }) => key}
      className="overscroll-contain"
      render={(change) => (
        <ChangeRow
          change={change}
          isExpanded={expanded.has(change.key)}
          onToggle={onToggle}
          progress={progressOf?.(change)}
          diagnostics={
            (isInterrupted && !expanded.has(change.key) ? undefined : diagnosticsOf?.(change)) ?? NO_DIAGNOSTICS
          }
        />
      )}
    />
  )
}

const NO_DIAGNOSTICS: readonly Diagnostic[] = []

type ChangeRowProps = {
  change: ResourceChange
  isExpanded: boolean
  onToggle: (key: string) => void
  progress: RowProgress | undefined
  diagnostics: readonly Diagnostic[]
}

const ChangeRow = memo(function ChangeRow({ change, isExpanded, onToggle, progress, diagnostics }: ChangeRowProps) {
  const id = useId()
  const { icon: Icon, tone, text } = CHANGE_STYLE[change.kind]
  const driftText = change.kind === 'destroy' ? 'deleted outside of runs' : 'changed outside of runs'
  return (
    <div className="border-b border-line">
      <button
        type="button"
        aria-expanded={isExpanded}
        aria-controls={isExpanded ? id : undefined}
        onClick={() => onToggle(change.key)}
        className="flex w-full cursor-pointer flex-wrap items-center gap-x-2 gap-y-0.5 px-3 py-2 text-left hover:bg-hover"
      >
        <ChevronRight size={15} className={`shrink-0 text-dim ${isExpanded ? 'rotate-90' : ''}`} />
        <Icon size={15} className={`shrink-0 ${TONE_TEXT[tone]}`} />
        <code className="min-w-0 flex-1 basis-48">{change.localAddress}</code>
        {change.isDeferred && <Badge tone="warn">deferred</Badge>}
        {change.isImport && <Badge tone="busy">import</Badge>}
        {change.isMove && <Badge tone="busy">move</Badge>}
        <span className={`ml-auto flex items-center gap-2 ${TONE_TEXT[tone]}`}>
          {progress && <ProgressText progress={progress} change={change} />}
          {!progress && (change.isDrift ? driftText : text)}
        </span>
      </button>
      {(isExpanded || diagnostics.length > 0) && (
        <div id={id} className="space-y-2 pb-3 pl-3 sm:pl-8">
          {diagnostics.length > 0 && (
            <div className="pr-3">
              <Diagnostics diagnostics={diagnostics} />
            </div>
          )}
          {isExpanded && <Details change={change} unknownText={unknownValueText(progress?.state)} />}
        </div>
      )}
    </div>
  )
})

const RUNNING_TEXTS = {
  create: 'creating',
  update: 'updating',
  destroy: 'destroying',
  read: 'reading',
  import: 'importing',
  other: 'working',
} as const
function ProgressText({ progress, change }: { progress: RowProgress; change: ResourceChange }) {
  const { done } = CHANGE_STYLE[change.kind]
  return (
    <StatusText {...OUTCOME_STYLE[progress.state]} isBusy={progress.state === 'running'}>
      {progress.state === 'waiting' && 'waiting'}
      {progress.state === 'running' && RUNNING_TEXTS[progress.action]}
      {progress.state === 'running' && <Elapsed from={new Date(progress.since).toISOString()} />}
      {progress.state === 'done' && done}
      {progress.state === 'done' && progress.seconds !== undefined && (
        <span className="numeric font-normal text-dim">{duration(progress.seconds * 1000)}</span>
      )}
      {progress.state === 'failed' && 'failed'}
      {progress.state === 'skipped' && `not ${done}`}
    </StatusText>
  )
}

function Details({ change, unknownText }: { change: ResourceChange; unknownText: string }) {
  const { changed, unchanged } = change.attributes()
  const [showsUnchanged, setShowsUnchanged] = useState(false)
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
        <AttributeDiff label={`Changes to ${change.address}`} changes={changed} unknownText={unknownText} />
      ) : (
        <p className="px-3 text-dim">No attribute changes</p>
      )}
      {unchanged.length > 0 && (
        <div>
          <button
            type="button"
            aria-expanded={showsUnchanged}
            onClick={() => setShowsUnchanged(!showsUnchanged)}
            className="ml-1.5 inline-flex cursor-pointer items-center gap-1 rounded px-1.5 py-0.5 text-dim hover:bg-hover"
          >
            <ChevronRight size={14} className={showsUnchanged ? 'rotate-90' : ''} />
            {unchanged.length.toLocaleString('en')} unchanged
          </button>
          {showsUnchanged && <AttributeDiff label={`Unchanged attributes of ${change.address}`} changes={unchanged} />}
        </div>
      )}
    </>
  )
}
