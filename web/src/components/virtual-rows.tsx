import { useVirtualizer } from '@tanstack/react-virtual'
import { type ReactNode, useRef } from 'react'
import { Pane } from './pane.tsx'

/**
 * A list of any length in a pane of its own: only the rows in sight are in the page. Rows are measured, so they may open
 * and wrap; `rowHeight` is what a row has at first, in px.
 */
export function VirtualRows({ label, count, rowHeight, keyOf, className = 'max-h-[70vh]', render }: VirtualRowsProps) {
  const pane = useRef<HTMLDivElement>(null)
  // oxlint-disable-next-line react/incompatible-library -- its functions change with each render, as they should
  const rows = useVirtualizer({
    count,
    getScrollElement: () => pane.current,
    estimateSize: () => rowHeight,
    overscan: 12,
    getItemKey: keyOf,
  })
  return (
    <Pane ref={pane} label={label} className={className}>
      <div className="relative w-full" style={{ height: rows.getTotalSize() }}>
        {rows.getVirtualItems().map((item) => (
          <div
            key={item.key}
            ref={rows.measureElement}
            data-index={item.index}
            className="absolute inset-x-0 top-0"
            style={{ transform: `translateY(${item.start}px)` }}
          >
            {render(item.index)}
          </div>
        ))}
      </div>
    </Pane>
  )
}

type VirtualRowsProps = {
  label: string
  count: number
  rowHeight: number
  /** Tells rows apart when they move. */
  keyOf: (index: number) => string | number
  className?: string
  render: (index: number) => ReactNode
}
