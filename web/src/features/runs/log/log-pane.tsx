import { getRouteApi } from '@tanstack/react-router'
import { ChevronDown, ChevronUp, CircleX, Download, Maximize, WrapText } from 'lucide-react'
import { type KeyboardEvent, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Button, IconButton } from '../../../components/button.tsx'
import { ErrorNote, Notice, Skeleton } from '../../../components/feedback.tsx'
import { SearchField } from '../../../components/filters.tsx'
import { counted } from '../../../components/numbers.ts'
import { LogRows, type LogRowsHandle } from './log-rows.tsx'
import { searchLines } from './log-search.ts'
import { isOver, type LogView, type Phase, retryLog, useLog } from './log-store.ts'
import type { PhaseName } from './use-diagnostics.ts'
import { wasKept } from './was-kept.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs/$run')

/** One log: its lines, and what one does with them. */
export function LogPane({ name, phase }: { name: PhaseName; phase: Phase }) {
  const view = useLog(phase)
  const deletedAt = phase.attributes['log-deleted-at']
  if (deletedAt !== null) return <Notice>{`The log of this ${name} ${wasKept(phase, deletedAt)}.`}</Notice>
  if (!view) return <Skeleton />
  if (view.state === 'gone') {
    return <Notice tone="warn">The log of this {name} is not there any more: it was deleted.</Notice>
  }
  const isEmpty = view.text.count() === 0
  return (
    <div className="space-y-2">
      {view.error && <ErrorNote error={view.error} onRetry={() => retryLog(phase)} />}
      {isEmpty && view.state === 'reading' && <Skeleton label="Loading the log" />}
      {isEmpty && view.state === 'whole' && <Notice>The engine has printed nothing.</Notice>}
      {isEmpty && view.state === 'following' && (
        <Notice>{isOver(phase) ? 'No output has arrived.' : 'Waiting for the first output…'}</Notice>
      )}
      {!isEmpty && <Lines name={name} phase={phase} view={view} />}
    </div>
  )
}

function Lines({ name, phase, view }: { name: PhaseName; phase: Phase; view: LogView }) {
  const { line, find = '' } = route.useSearch()
  const navigate = route.useNavigate()
  const frame = useRef<HTMLDivElement>(null)
  const rows = useRef<LogRowsHandle>(null)
  const [isWrapped, setIsWrapped] = useState(false)
  const { text, version } = view
  const searched = useDeferredValue(find)
  // The text is the same object as it grows; its version tells that it has.
  const found = useMemo(() => ({ ...searchLines(text.plainLines(), searched), version }), [text, searched, version])
  const [match, setMatch] = useState<{ of: string; at: number }>({ of: '', at: -1 })
  const at = match.of === searched ? match.at : -1
  const linked = line === undefined ? undefined : line - 1
  const isLive = !isOver(phase) && view.state !== 'whole'
  const [beginAt] = useState<number | 'end' | undefined>(linked ?? (isLive ? 'end' : undefined))
  useEffect(() => {
    if (linked === undefined) return
    // A link from elsewhere leads to a line out of sight; the number of a line that was clicked is in sight.
    rows.current?.bringToSight(linked)
    frame.current?.scrollIntoView({ block: 'nearest' })
  }, [linked])
  const firstError = text.diagnostics().find(({ severity }) => severity === 'error')

  function show(index: number) {
    rows.current?.showLine(index)
  }
  const linkLine = useCallback(
    (number: number) =>
      void navigate({
        search: (before) => ({ ...before, part: 'log', phase: name, line: number }),
        replace: true,
        resetScroll: false,
      }),
    [navigate, name],
  )
  function step(by: 1 | -1) {
    const { lines } = found
    if (lines.length === 0) return
    const next = at === -1 ? (by === 1 ? 0 : lines.length - 1) : (at + by + lines.length) % lines.length
    setMatch({ of: searched, at: next })
    show(lines[next] ?? 0)
  }
  function onKey(event: KeyboardEvent) {
    if (event.key !== 'Enter') return
    event.preventDefault()
    step(event.shiftKey ? -1 : 1)
  }
  const hrefOf = useCallback((number: number) => `${location.pathname}?part=log&phase=${name}&line=${number}`, [name])
  const current = at === -1 ? linked : found.lines[at]

  return (
    <div
      ref={frame}
      className="flex flex-col overflow-hidden rounded-lg border border-line bg-paper fullscreen:rounded-none fullscreen:border-0"
    >
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-2 py-1.5">
        <div role="search" onKeyDown={onKey} className="flex min-w-0 flex-wrap items-center gap-1">
          <SearchField
            label="Search the log"
            value={find}
            onChange={(value) =>
              void navigate({
                search: (before) => ({ ...before, find: value === '' ? undefined : value }),
                replace: true,
                resetScroll: false,
              })
            }
            className="w-56"
          />
          {searched !== '' && (
            <>
              <span role="status" className="numeric px-1 text-dim">
                {found.count === 0
                  ? 'nothing found'
                  : `${at === -1 ? '' : `line ${at + 1} of `}${counted(found.lines.length, 'line')}, ${counted(found.count, 'hit')}`}
              </span>
              <IconButton size="small" icon={ChevronUp} label="Previous hit (Shift Enter)" onClick={() => step(-1)} />
              <IconButton size="small" icon={ChevronDown} label="Next hit (Enter)" onClick={() => step(1)} />
            </>
          )}
        </div>
        <div className="ml-auto flex items-center gap-1">
          {firstError && (
            <Button size="small" icon={CircleX} onClick={() => linkTo(firstError.line)}>
              First error
            </Button>
          )}
          <IconButton
            size="small"
            icon={WrapText}
            label="Wrap long lines"
            aria-pressed={isWrapped}
            className="px-1.5 aria-pressed:bg-accent-soft"
            onClick={() => setIsWrapped(!isWrapped)}
          />
          <IconButton
            size="small"
            icon={Download}
            label="Download the log as text"
            onClick={() => download(`${phase.id}.log`, text.plainLines())}
          />
          <IconButton
            size="small"
            icon={Maximize}
            label="Full screen"
            onClick={() =>
              void (document.fullscreenElement ? document.exitFullscreen() : frame.current?.requestFullscreen())
            }
          />
        </div>
      </div>
      <LogRows
        ref={rows}
        label={`Log of the ${name}`}
        text={text}
        version={version}
        isWrapped={isWrapped}
        isLive={isLive}
        searched={searched}
        current={current}
        beginAt={beginAt}
        hrefOf={hrefOf}
        onLine={linkLine}
        className="h-[min(70vh,48rem)] in-fullscreen:h-full"
      />
      <p role="status" className="border-t border-line px-3 py-1 text-xs text-dim">
        {isLive
          ? 'The log goes on'
          : view.state === 'whole'
            ? 'The log is whole'
            : 'The end of the log has not come yet'}
        :{' '}
        <span className="numeric" aria-hidden="true">
          {counted(text.count(), 'line')}
        </span>
      </p>
    </div>
  )

  function linkTo(index: number) {
    linkLine(index + 1)
    show(index)
  }
}

function download(name: string, lines: readonly string[]) {
  const url = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
