import { type Ref, useEffect, useImperativeHandle, useRef, useState } from 'react'
import { Pane } from '../../components/pane.tsx'
import type { Row } from './raw-state.ts'
import { insideHeight, ROW_PX, rowWindow, scrollTopFor } from './row-window.ts'

export type RawRowsHandle = { show: (row: number) => void; first: () => number }

/** The rows of a raw state. Only those in sight are in the page, however many there are. */
export function RawRows({
  rows,
  lines,
  rowAt,
  query,
  marked,
  ref,
}: {
  rows: number
  lines: number
  rowAt: (row: number) => Row | undefined
  /** The text that is searched for. */
  query: string
  /** The row that the search is at. */
  marked: number | undefined
  ref: Ref<RawRowsHandle>
}) {
  const pane = useRef<HTMLDivElement>(null)
  const [view, setView] = useState({ scrollTop: 0, height: 600 })
  const { from, to, top } = rowWindow({ rows, ...view })

  useImperativeHandle(ref, () => ({
    show: (row) => {
      const element = pane.current
      if (element) element.scrollTop = scrollTopFor(row, { rows, height: element.clientHeight })
    },
    first: () => rowWindow({ rows, ...view }).from,
  }))

  useEffect(() => {
    const element = pane.current
    if (!element) return undefined
    const measure = () => setView({ scrollTop: element.scrollTop, height: element.clientHeight })
    const observer = new ResizeObserver(measure)
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  const digits = String(lines).length
  return (
    <Pane
      ref={pane}
      label="The raw state"
      className="h-[70vh] rounded-md border border-line bg-paper"
      onScroll={({ currentTarget }) =>
        setView({ scrollTop: currentTarget.scrollTop, height: currentTarget.clientHeight })
      }
    >
      <div className="relative w-max min-w-full" style={{ height: insideHeight(rows) }}>
        {/* In the flow, so that the pane is as wide as the rows in sight. */}
        <div style={{ transform: `translateY(${top}px)` }}>
          {Array.from({ length: to - from }, (_, at) => from + at).map((row) => (
            <RowLine key={row} row={rowAt(row)} digits={digits} query={query} isMarked={row === marked} />
          ))}
        </div>
      </div>
    </Pane>
  )
}

function RowLine({
  row,
  digits,
  query,
  isMarked,
}: {
  row: Row | undefined
  digits: number
  query: string
  isMarked: boolean
}) {
  return (
    <div
      className={`flex font-mono text-[0.9285rem] leading-5 ${isMarked ? 'bg-accent-soft' : ''}`}
      style={{ height: ROW_PX }}
      aria-current={isMarked || undefined}
    >
      <span
        className={`numeric sticky left-0 shrink-0 border-r border-line px-2 text-right text-dim select-none ${isMarked ? 'bg-accent-soft' : 'bg-ground'}`}
        style={{ minWidth: `calc(${digits}ch + 1rem)` }}
      >
        {row?.number ?? ''}
      </span>
      <span className="pr-4 pl-2 whitespace-pre">{row && <Highlighted text={row.text} query={query} />}</span>
    </div>
  )
}

function Highlighted({ text, query }: { text: string; query: string }) {
  if (query === '') return text
  const parts = []
  const folded = text.toLowerCase()
  const wanted = query.toLowerCase()
  let at = 0
  // Some characters have another length in small letters: their positions would be wrong.
  for (
    let found = folded.length === text.length ? folded.indexOf(wanted) : -1;
    found !== -1;
    found = folded.indexOf(wanted, at)
  ) {
    parts.push(
      text.slice(at, found),
      <mark key={found} className="rounded-xs bg-warn-soft text-ink outline outline-warn">
        {text.slice(found, found + wanted.length)}
      </mark>,
    )
    at = found + wanted.length
  }
  parts.push(text.slice(at))
  return parts
}
