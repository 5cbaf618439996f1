import { memo, type Ref, useCallback, useEffect, useImperativeHandle, useRef, useState } from 'react'
import { ownPath } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { MatchSearch } from '../../components/filters.tsx'
import { byteSize, counted } from '../../components/numbers.ts'
import { Pane } from '../../components/pane.tsx'
import { MarkedText } from '../../components/text-search.tsx'
import { type Row, useRawState } from './raw-state.ts'
import { useStateVersion } from './states.ts'

type RawViewProps = { id: string; url: string; size: number; query: string; onQuery: (query: string) => void }

export function RawView({ id, url, size, query, onQuery }: RawViewProps) {
  const state = useRawState({ url: ownPath(url), size })
  const { refetch } = useStateVersion(id)
  const { status, find } = state
  const isComplete = status.kind === 'open' && status.isComplete
  useEffect(() => {
    if (isComplete) find(query)
  }, [isComplete, find, query])

  const reload = () =>
    void refetch().then(({ data }) => state.load(ownPath(data?.version.attributes['hosted-state-download-url'] ?? url)))

  if (status.kind === 'loading') return <Progress received={0} size={size} onCancel={state.cancel} />
  if (status.kind === 'canceled')
    return <Notice actions={<Button size="small" label="Load" onClick={reload} />}>Loading was canceled.</Notice>
  if (status.kind === 'failed')
    return status.isMissing ? (
      <Notice tone="warn" actions={<Button size="small" label="Try again" onClick={reload} />}>
        The link to this state has expired, or its data was deleted.
      </Notice>
    ) : (
      <ErrorNote error={new Error(status.detail)} onRetry={reload} />
    )
  return (
    <div className="space-y-2">
      {!isComplete && <Progress received={status.received} size={size} onCancel={state.cancel} />}
      <OpenState state={state} status={status} query={query} onQuery={onQuery} />
    </div>
  )
}

function Progress({ received, size, onCancel }: { received: number; size: number; onCancel: () => void }) {
  const percent = size === 0 ? 0 : Math.min(100, Math.round((received / size) * 100))
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-md border border-line px-3 py-2">
      <div
        role="progressbar"
        aria-label="Loading the state"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
        className="h-2 flex-1 overflow-hidden rounded-full bg-hover"
      >
        <div className="h-full rounded-full bg-accent" style={{ width: `${percent}%` }} />
      </div>
      <span className="numeric text-dim">
        {byteSize(received)} of {byteSize(size)}
      </span>
      <Button size="small" label="Cancel" onClick={onCancel} />
    </div>
  )
}

type OpenStateProps = Pick<RawViewProps, 'query' | 'onQuery'> & {
  state: Pick<ReturnType<typeof useRawState>, 'rowAt' | 'matches'>
  status: { rows: number; lines: number; isComplete: boolean }
}

function OpenState({ state: { rowAt, matches }, status, query, onQuery }: OpenStateProps) {
  const { rows, lines, isComplete } = status
  const handle = useRef<RawRowsHandle>(null)
  const [at, setAt] = useState(0)
  const current = matches?.query === query ? matches : undefined
  const count = current?.rows.length ?? 0

  // As in an editor, the search begins at the first visible row.
  useEffect(() => {
    if (!current || current.rows.length === 0) return
    const first = handle.current?.firstRow() ?? 0
    const start = current.rows.findIndex((row) => row >= first)
    setAt(Math.max(0, start))
    handle.current?.scrollTo(current.rows.at(Math.max(0, start)) ?? 0)
  }, [current])

  function step(by: number) {
    if (!current || count === 0) return
    const next = (at + by + count) % count
    setAt(next)
    handle.current?.scrollTo(current.rows[next] ?? 0)
  }

  function statusText() {
    if (query === '') return isComplete && counted(lines, 'line')
    if (!current) return 'Searching…'
    if (count === 0) return `No matches in ${counted(lines, 'line')}`
    return `${(at + 1).toLocaleString('en')} of ${counted(count, 'match', 'matches')}`
  }

  return (
    <div className="space-y-2">
      <MatchSearch
        label="Search the raw state"
        value={query}
        onChange={onQuery}
        className="w-full sm:w-72"
        status={statusText()}
        hasMatches={count > 0}
        onStep={step}
      />
      <RawRows ref={handle} {...{ rows, lines, rowAt, query }} current={query === '' ? undefined : current?.rows[at]} />
    </div>
  )
}

export const ROW_PX = 20
/** Maximum height of an element: 17.8 million px in Firefox, 33.5 million in Chromium. */
const MAX_HEIGHT_PX = 16_000_000
const OVERSCAN = 5

type RawRowsHandle = { scrollTo: (row: number) => void; firstRow: () => number }

type RawRowsProps = {
  rows: number
  lines: number
  rowAt: (row: number) => Row | undefined
  query: string
  current: number | undefined
  ref: Ref<RawRowsHandle>
}

function RawRows({ rows, lines, rowAt, query, current, ref }: RawRowsProps) {
  const pane = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ scrollTop: 0, height: 600, isShifted: false })
  const { from, to, top } = rowWindow({ rows, ...view })

  useImperativeHandle(ref, () => ({
    scrollTo: (row) => {
      const element = pane.current
      if (element) element.scrollTop = scrollTopFor(row, { rows, height: element.clientHeight })
    },
    firstRow: () => rowWindow({ rows, ...view }).from,
  }))

  const measure = useCallback(() => {
    if (!pane.current) return
    const { scrollTop, scrollLeft, clientHeight: height } = pane.current
    setView({ scrollTop, height, isShifted: scrollLeft > 0 })
  }, [])
  useEffect(() => {
    const observer = new ResizeObserver(measure)
    if (pane.current) observer.observe(pane.current)
    return () => observer.disconnect()
  }, [measure])

  const digits = String(lines).length
  return (
    <Pane
      ref={pane}
      label="Raw state"
      // Sticky line numbers make scrolling slow, so they are only sticky while it is scrolled sideways.
      data-shifted={view.isShifted || undefined}
      className="h-[70vh] rounded-md border border-line bg-paper contain-content"
      onScroll={measure}
    >
      <div className="relative w-max min-w-full" style={{ height: contentHeight(rows) }}>
        {/* Not absolute, so that the pane is as wide as the visible rows. */}
        <div style={{ transform: `translateY(${top}px)` }}>
          {Array.from({ length: to - from }, (_, at) => from + at).map((row) => (
            <RowLine key={row} row={rowAt(row)} digits={digits} query={query} isCurrent={row === current} />
          ))}
        </div>
      </div>
    </Pane>
  )
}

const MARK = 'rounded-xs bg-warn-soft text-ink outline outline-warn'

type RowLineProps = { row: Row | undefined; digits: number; query: string; isCurrent: boolean }

/** Memoised so that scrolling renders only the rows that become visible. */
const RowLine = memo(function RowLine({ row, digits, query, isCurrent }: RowLineProps) {
  return (
    <div
      className={`flex font-mono text-[0.9285rem] leading-5 ${isCurrent ? 'bg-accent-soft' : ''}`}
      style={{ height: ROW_PX }}
      aria-current={isCurrent || undefined}
    >
      <span
        className={`numeric left-0 shrink-0 in-data-shifted:sticky border-r border-line px-2 text-right text-dim select-none ${isCurrent ? 'bg-accent-soft' : 'bg-ground'}`}
        style={{ minWidth: `calc(${digits}ch + 1rem)` }}
      >
        {row?.number ?? ''}
      </span>
      <span className="pr-4 pl-2 whitespace-pre">
        <MarkedText spans={[{ text: row?.text ?? '', className: '' }]} query={query} mark={MARK} />
      </span>
    </div>
  )
})

/** Scroll height for `rows`, in px; compressed beyond what browsers support. */
export function contentHeight(rows: number) {
  return Math.min(rows * ROW_PX, MAX_HEIGHT_PX)
}

/** The rows to render in a pane of this height, and the offset of the first one, in px. */
export function rowWindow({ rows, scrollTop, height }: { rows: number; scrollTop: number; height: number }) {
  const scrollRange = contentHeight(rows) - height
  const scrolled = scrollRange <= 0 ? 0 : Math.min(scrollTop, scrollRange) / scrollRange
  /** The row at the top of the pane, with its fraction. */
  const exact = scrolled * (rows - height / ROW_PX)
  const from = Math.max(0, Math.floor(exact) - OVERSCAN)
  const to = Math.min(rows, Math.ceil(exact + height / ROW_PX) + OVERSCAN)
  return { from, to, top: scrollTop - (exact - from) * ROW_PX }
}

/** The scroll offset that centres a row, in px. */
export function scrollTopFor(row: number, { rows, height }: { rows: number; height: number }) {
  const scrollRange = contentHeight(rows) - height
  const first = Math.max(0, row + 0.5 - height / ROW_PX / 2)
  const maxFirst = rows - height / ROW_PX
  return scrollRange <= 0 || maxFirst <= 0 ? 0 : Math.min(scrollRange, (first / maxFirst) * scrollRange)
}
