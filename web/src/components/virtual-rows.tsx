import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useRef } from 'react'
import { Pane } from './pane.tsx'

export type VirtualRowsProps<Row> = {
  label: string
  rows: readonly Row[]
  /** Longer lists are virtualised. */
  maxStatic: number
  /** Initial height of a row, in px. */
  rowHeight: number
  keyOf: (row: Row) => string
  className?: string
  render: (row: Row) => ReactNode
}

/** A list whose rows may expand and wrap. A long list gets its own scroll pane, which contains only the visible rows. */
export function VirtualRows<Row>(props: VirtualRowsProps<Row>) {
  const { label, rows, maxStatic, keyOf, className, render } = props
  if (rows.length > maxStatic) return <VirtualPane {...props} />
  return (
    <div role="region" aria-label={label} className={className}>
      {rows.map((row) => (
        <div key={keyOf(row)}>{render(row)}</div>
      ))}
    </div>
  )
}

function VirtualPane<Row>({ label, rows, rowHeight, keyOf, className = '', render }: VirtualRowsProps<Row>) {
  const pane = useRef<HTMLDivElement>(null)
  // oxlint-disable-next-line react/incompatible-library -- the functions it returns change with each render on purpose
  const virtualizer = useVirtualizer({
    count: rows.length,
    getScrollElement: () => pane.current,
    estimateSize: () => rowHeight,
    overscan: 4,
    useFlushSync: false,
    getItemKey: (index) => (rows[index] === undefined ? index : keyOf(rows[index])),
  })
  const items = virtualizer.getVirtualItems()
  return (
    <Pane ref={pane} label={label} className={`max-h-[70vh] [overflow-anchor:none] contain-content ${className}`}>
      <div style={{ height: virtualizer.getTotalSize(), paddingTop: items[0]?.start ?? 0 }}>
        {items.map(({ key, index }) => (
          <div key={key} ref={virtualizer.measureElement} data-index={index}>
            {rows[index] !== undefined && render(rows[index])}
          </div>
        ))}
      </div>
    </Pane>
  )
}
