import { ChevronDown, ChevronUp, CircleX, Download, Maximize, WrapText } from 'lucide-react'
import { type KeyboardEvent, useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Button, IconButton } from '../../../components/button.tsx'
import { ErrorNote, Notice, Skeleton } from '../../../components/feedback.tsx'
import { SearchField } from '../../../components/filters.tsx'
import { counted } from '../../../components/numbers.ts'
import { type PhaseName, useRunSearch } from '../run-navigation.tsx'
import { LogRows, type LogRowsHandle } from './log-rows.tsx'
import { hasEnded, type LogView, type Phase, retentionText, retryLog, useLog } from './log-store.ts'
import { searchLines } from './log-text.ts'

/** The log of a phase, with search and download. */
export function LogPane({ name, phase }: { name: PhaseName; phase: Phase }) {
  const view = useLog(phase)
  const deletedAt = phase.attributes['log-deleted-at']
  if (deletedAt !== null) return <Notice>{`The ${name} log ${retentionText(phase, deletedAt)}.`}</Notice>
  if (!view) return <Skeleton />
  if (view.state === 'deleted') return <Notice tone="warn">The {name} log was deleted.</Notice>
  const isEmpty = view.text.count() === 0
  return (
    <div className="space-y-2">
      {view.error && <ErrorNote error={view.error} onRetry={() => retryLog(phase)} />}
      {isEmpty && view.state === 'loading' && <Skeleton label="Loading the log" />}
      {isEmpty && view.state === 'complete' && <Notice>The log is empty.</Notice>}
      {isEmpty && view.state === 'following' && (
        <Notice>{hasEnded(phase) ? 'No output received' : 'Waiting for output…'}</Notice>
      )}
      {!isEmpty && <Lines name={name} phase={phase} view={view} />}
    </div>
  )
}

function Lines({ name, phase, view }: { name: PhaseName; phase: Phase; view: LogView }) {
  const [{ line, find = '' }, setSearch] = useRunSearch()
  const frame = useRef<HTMLDivElement>(null)
  const rows = useRef<LogRowsHandle>(null)
  const [isWrapped, setIsWrapped] = useState(false)
  const { text, version } = view
  const query = useDeferredValue(find)
  // The text is one growing object; only its version shows that it has changed.
  const matches = useMemo(() => ({ ...searchLines(text.plainLines(), query), version }), [text, query, version])
  const [match, setMatch] = useState<{ query: string; at: number }>({ query: '', at: -1 })
  const at = match.query === query ? match.at : -1
  const linked = line === undefined ? undefined : line - 1
  const isLive = !hasEnded(phase) && view.state !== 'complete'
  const [beginAt] = useState<number | 'end' | undefined>(linked ?? (isLive ? 'end' : undefined))
  useEffect(() => {
    if (linked === undefined) return
    // Has no effect on a line that the user clicked, which is visible.
    rows.current?.ensureVisible(linked)
    frame.current?.scrollIntoView({ block: 'nearest' })
  }, [linked])
  const firstError = text.diagnostics().find(({ severity }) => severity === 'error')

  const linkLine = useCallback(
    (number: number) => setSearch({ part: 'log', phase: name, line: number }),
    [setSearch, name],
  )
  function step(by: 1 | -1) {
    const { lines } = matches
    if (lines.length === 0) return
    const next = at === -1 ? (by === 1 ? 0 : lines.length - 1) : (at + by + lines.length) % lines.length
    setMatch({ query, at: next })
    rows.current?.scrollTo(lines[next] ?? 0)
  }
  function onKey(event: KeyboardEvent) {
    if (event.key !== 'Enter') return
    event.preventDefault()
    step(event.shiftKey ? -1 : 1)
  }
  const hrefOf = useCallback((number: number) => `${location.pathname}?part=log&phase=${name}&line=${number}`, [name])

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
            onChange={(value) => setSearch({ find: value || undefined })}
            className="w-56"
          />
          {query !== '' && (
            <>
              <span role="status" className="numeric px-1 text-dim">
                {matches.count === 0
                  ? 'no matches'
                  : `${at === -1 ? '' : `line ${at + 1} of `}${counted(matches.lines.length, 'line')}, ${counted(matches.count, 'match', 'matches')}`}
              </span>
              <IconButton size="small" icon={ChevronUp} label="Previous match (Shift Enter)" onClick={() => step(-1)} />
              <IconButton size="small" icon={ChevronDown} label="Next match (Enter)" onClick={() => step(1)} />
            </>
          )}
        </div>
        <div className="ml-auto flex items-center gap-1">
          {firstError && (
            <Button
              size="small"
              icon={CircleX}
              onClick={() => {
                linkLine(firstError.line + 1)
                rows.current?.scrollTo(firstError.line)
              }}
            >
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
            label="Download log"
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
        label={name === 'plan' ? 'Plan log' : 'Apply log'}
        text={text}
        version={version}
        isWrapped={isWrapped}
        isLive={isLive}
        query={query}
        current={at === -1 ? linked : matches.lines[at]}
        beginAt={beginAt}
        hrefOf={hrefOf}
        onLine={linkLine}
        className="h-[min(70vh,48rem)] in-fullscreen:h-full"
      />
      <p role="status" className="border-t border-line px-3 py-1 text-xs text-dim">
        {isLive ? 'Live' : view.state === 'complete' ? 'Complete' : 'Incomplete'}:{' '}
        <span className="numeric" aria-hidden="true">
          {counted(text.count(), 'line')}
        </span>
      </p>
    </div>
  )
}

function download(name: string, lines: readonly string[]) {
  const url = URL.createObjectURL(new Blob([`${lines.join('\n')}\n`], { type: 'text/plain' }))
  const link = document.createElement('a')
  link.href = url
  link.download = name
  link.click()
  URL.revokeObjectURL(url)
}
