import { useEffect, useRef, useState } from 'react'
import { ownPath } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Notice } from '../../components/feedback.tsx'
import { MatchSearch } from '../../components/filters.tsx'
import { byteSize, counted } from '../../components/numbers.ts'
import { RawRows, type RawRowsHandle } from './raw-rows.tsx'
import { useRawState } from './raw-state.ts'

type RawViewProps = { url: string; size: number; query: string; onQuery: (query: string) => void }

/** The raw JSON of a state of any size, with search. */
export function RawView({ url, size, query, onQuery }: RawViewProps) {
  const state = useRawState({ url: ownPath(url), size })
  const { status, find } = state
  const isComplete = status.kind === 'open' && status.isComplete
  useEffect(() => {
    if (isComplete) find(query)
  }, [isComplete, find, query])

  if (status.kind === 'loading') return <Progress received={0} size={size} onCancel={state.cancel} />
  if (status.kind === 'canceled')
    return <Notice actions={<Button size="small" label="Load" onClick={state.retry} />}>Loading was canceled.</Notice>
  if (status.kind === 'failed')
    return status.isDeleted ? (
      <Notice tone="warn">The data of this state is no longer available.</Notice>
    ) : (
      <ErrorNote error={new Error(status.detail)} onRetry={state.retry} />
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
