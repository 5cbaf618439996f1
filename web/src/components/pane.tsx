import type { ReactNode, Ref, UIEventHandler } from 'react'

/** A part that scrolls by itself. It can be reached by key, so that the arrow keys scroll it. */
export function Pane({
  label,
  className = '',
  ref,
  onScroll,
  children,
}: {
  label: string
  className?: string
  ref?: Ref<HTMLDivElement>
  onScroll?: UIEventHandler
  children: ReactNode
}) {
  return (
    <div
      ref={ref}
      role="region"
      aria-label={label}
      tabIndex={0}
      onScroll={onScroll}
      className={`overflow-auto ${className}`}
    >
      {children}
    </div>
  )
}
