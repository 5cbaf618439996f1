import { ChevronDown, ChevronUp } from 'lucide-react'
import { useEffect, useRef, useState } from 'react'
import { ownPath } from '../../api/client.ts'
import { Button, IconButton } from '../../components/button.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { byteSize, counted } from '../../components/numbers.ts'
import { RawRows, type RawRowsHandle } from './raw-rows.tsx'
import { useRawState } from './raw-state.ts'

/** The state as it is stored, whatever its size. */
export function RawView({
  url,
  size,
  query,
  onQuery,
}: {
  url: string
  size: number
  query: string
  onQuery: (query: string) => void
}) {
  const state = useRawState({ url: ownPath(url), size })
  const { opening, find } = state
  const isWhole = opening.kind === 'open' && opening.isWhole
  useEffect(() => {
    if (isWhole) find(query)
  }, [isWhole, find, query])

  if (opening.kind === 'loading') return <Progress received={0} size={size} onCancel={state.cancel} />
  if (opening.kind === 'canceled')
    return <Notice actions={<Retry onClick={state.retry} text="Open it" />}>The state was not opened.</Notice>
  if (opening.kind === 'failed')
    return opening.isGone ? (
      <Notice tone="warn">The content of this state can’t be read any longer.</Notice>
    ) : (
      <ErrorNote error={new Error(opening.detail)} onRetry={state.retry} />
    )
  return (
    <div className="space-y-2">
      {!isWhole && <Progress received={opening.received} size={size} onCancel={state.cancel} />}
      <OpenState
        state={state}
        rows={opening.rows}
        lines={opening.lines}
        isWhole={isWhole}
        query={query}
        onQuery={onQuery}
      />
    </div>
  )
}

function Progress({ received, size, onCancel }: { received: number; size: number; onCancel: () => void }) {
  const percent = size === 0 ? 0 : Math.min(100, Math.round((received / size) * 100))
  return (
    <div className="flex flex-wrap items-center gap-3 rounded-md border border-line px-3 py-2">
      <div
        role="progressbar"
        aria-label="The state is being read"
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
      <Button size="small" onClick={onCancel}>
        Cancel
      </Button>
    </div>
  )
}

function Retry({ onClick, text }: { onClick: () => void; text: string }) {
  return (
    <Button size="small" onClick={onClick}>
      {text}
    </Button>
  )
}

function OpenState({
  state: { rowAt, found },
  rows,
  lines,
  isWhole,
  query,
  onQuery,
}: {
  state: ReturnType<typeof useRawState>
  rows: number
  lines: number
  isWhole: boolean
  query: string
  onQuery: (query: string) => void
}) {
  const handle = useRef<RawRowsHandle>(null)
  const [at, setAt] = useState(0)
  const current = found?.query === query ? found : undefined
  const count = current?.rows.length ?? 0

  // The first match at or below what is in sight, as an editor does it.
  useEffect(() => {
    if (!current || current.rows.length === 0) return
    const first = handle.current?.first() ?? 0
    const next = current.rows.findIndex((row) => row >= first)
    const start = next === -1 ? 0 : next
    setAt(start)
    handle.current?.show(current.rows[start] ?? 0)
  }, [current])

  function step(by: number) {
    if (!current || count === 0) return
    const next = (at + by + count) % count
    setAt(next)
    handle.current?.show(current.rows[next] ?? 0)
  }

  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center gap-2">
        <div
          className="max-w-full max-sm:w-full"
          onKeyDown={(event) => {
            if (event.key !== 'Enter') return
            event.preventDefault()
            step(event.shiftKey ? -1 : 1)
          }}
        >
          <SearchField label="Search the raw state" value={query} onChange={onQuery} className="w-full sm:w-72" />
        </div>
        {query !== '' && (
          <>
            <IconButton
              label="Previous match"
              icon={ChevronUp}
              size="small"
              reason={count === 0 ? 'nothing is found' : undefined}
              onClick={() => step(-1)}
            />
            <IconButton
              label="Next match"
              icon={ChevronDown}
              size="small"
              reason={count === 0 ? 'nothing is found' : undefined}
              onClick={() => step(1)}
            />
          </>
        )}
        <span role="status" className="numeric text-dim">
          {query === ''
            ? isWhole && counted(lines, 'line')
            : current
              ? count === 0
                ? `“${query}” is in none of ${counted(lines, 'line')}`
                : `${(at + 1).toLocaleString('en')} of ${counted(count, 'match', 'matches')}`
              : 'Searching'}
        </span>
      </div>
      <RawRows
        ref={handle}
        rows={rows}
        lines={lines}
        rowAt={rowAt}
        query={query}
        marked={query === '' ? undefined : current?.rows[at]}
      />
    </div>
  )
}
