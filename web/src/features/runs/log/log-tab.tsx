import { RUN_STATUS_TABLE } from '@groundstate/contract/run-status'
import { CircleX, Download, Maximize, WrapText } from 'lucide-react'
import { useCallback, useDeferredValue, useEffect, useMemo, useRef, useState } from 'react'
import { Button, IconButton } from '../../../components/button.tsx'
import { EmptyState, ErrorNote, Notice, Skeleton } from '../../../components/feedback.tsx'
import { MatchSearch } from '../../../components/filters.tsx'
import { counted } from '../../../components/numbers.ts'
import { searchLines } from '../../../components/text-search.tsx'
import { type PhaseName, runRoute, TabLink, useRunSearch } from '../run-navigation.tsx'
import type { Apply, Plan, Run, RunDocument } from '../run.ts'
import { RunDiagnostics, useDiagnostics } from './diagnostics.tsx'
import { LogRows, type LogRowsHandle } from './log-rows.tsx'
import { hasEnded, hasStarted, type LogView, type Phase, retentionText, retryLog, useLog } from './log-store.ts'

const PHASES = ['plan', 'apply'] as const
const TITLES = { plan: 'Plan', apply: 'Apply' } as const

/** The logs of plan and apply, below their diagnostics. */
export function LogTab({ document }: { document: RunDocument }) {
  const { run, plan, apply } = document
  const search = runRoute.useSearch()
  const diagnostics = useDiagnostics(plan, apply)
  // Once the user interacts with a log, the start of the apply does not replace it.
  const [pinned, setPinned] = useState<PhaseName>()
  if (!plan) return <Skeleton />
  const phases = { plan, apply }
  const latest = PHASES.findLast((name) => phases[name] && hasStarted(phases[name])) ?? 'plan'
  const name = PHASES.find((phase) => phase === search.phase) ?? pinned ?? latest
  const pin = () => setPinned(name)
  const phase = phases[name]
  return (
    <div className="space-y-3">
      <RunDiagnostics
        document={document}
        diagnostics={diagnostics}
        linkOf={({ phase: own, line }) => (
          <TabLink search={{ part: 'log', phase: own, line: line + 1 }} isMerged className="shrink-0 text-accent">
            View in log
          </TabLink>
        )}
      />
      <nav aria-label="Logs" className="flex gap-1">
        {PHASES.map((own) => (
          <TabLink
            key={own}
            search={{ part: 'log', phase: own, line: undefined }}
            isMerged
            replace
            aria-current={own === name ? 'page' : undefined}
            className="rounded-md border border-transparent px-3 py-1 font-medium text-dim no-underline hover:bg-hover aria-[current]:border-line aria-[current]:bg-paper aria-[current]:text-ink"
          >
            {TITLES[own]}
          </TabLink>
        ))}
      </nav>
      {phase && hasStarted(phase) ? (
        <div onPointerDown={pin} onKeyDown={pin} onWheel={pin}>
          <LogPane key={phase.id} name={name} phase={phase} />
        </div>
      ) : (
        <EmptyState title={`No ${name} log`} text={missingLogReason(name, phase, run)} />
      )}
    </div>
  )
}

export function missingLogReason(name: PhaseName, phase: Plan | Apply | undefined, { attributes }: Run) {
  if (phase && !hasEnded(phase)) return `The log appears once an agent starts the ${name}.`
  if (name === 'apply' && attributes['plan-only']) return 'This run is plan-only.'
  if (attributes.status === 'planned_and_finished') return 'There was nothing to apply.'
  const { group, label } = RUN_STATUS_TABLE[attributes.status]
  const reason = group === 'stopped' ? `The run was ${label}.` : attributes['error-message']
  return `The ${name} never started. ${reason ?? ''}`.trim()
}

function LogPane({ name, phase }: { name: PhaseName; phase: Phase }) {
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
  function showFirstError() {
    if (!firstError) return
    linkLine(firstError.line + 1)
    rows.current?.scrollTo(firstError.line)
  }
  function step(by: 1 | -1) {
    const { lines } = matches
    if (lines.length === 0) return
    const from = at === -1 && by === -1 ? 0 : at
    const next = (from + by + lines.length) % lines.length
    setMatch({ query, at: next })
    rows.current?.scrollTo(lines[next] ?? 0)
  }
  const { length: found } = matches.lines
  const total = counted(matches.count, 'match', 'matches')
  // The search steps through lines, some of which may match several times.
  const isPerLine = matches.count === found
  const position = isPerLine ? `${at + 1} of ${total}` : `matching line ${at + 1} of ${found}`
  const status = at === -1 ? `${total}${isPerLine ? '' : ` in ${counted(found, 'line')}`}` : position
  const toggleFullScreen = () =>
    void (document.fullscreenElement ? document.exitFullscreen() : frame.current?.requestFullscreen())
  const hrefOf = useCallback((number: number) => `${location.pathname}?part=log&phase=${name}&line=${number}`, [name])

  return (
    <div
      ref={frame}
      className="flex flex-col overflow-hidden rounded-lg border border-line bg-paper fullscreen:rounded-none fullscreen:border-0"
    >
      <div className="flex flex-wrap items-center gap-2 border-b border-line px-2 py-1.5">
        <MatchSearch
          label="Search the log"
          value={find}
          onChange={(value) => setSearch({ find: value || undefined })}
          className="w-56"
          status={query !== '' && (matches.count === 0 ? 'no matches' : status)}
          hasMatches={matches.count > 0}
          onStep={step}
        />
        <div className="ml-auto flex items-center gap-1">
          {firstError && <Button size="small" icon={CircleX} label="First error" onClick={showFirstError} />}
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
          <IconButton size="small" icon={Maximize} label="Full screen" onClick={toggleFullScreen} />
        </div>
      </div>
      <LogRows
        ref={rows}
        label={name === 'plan' ? 'Plan log' : 'Apply log'}
        {...{ text, version, isWrapped, isLive, query, beginAt, hrefOf }}
        current={at === -1 ? linked : matches.lines[at]}
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
