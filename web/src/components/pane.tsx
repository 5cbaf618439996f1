import type { ReactNode, Ref, UIEventHandler } from 'react'

type PaneProps = {
  label: string
  className?: string
  ref?: Ref<HTMLDivElement>
  onScroll?: UIEventHandler
  children: ReactNode
}

/** A scrollable region; focusable, so that the arrow keys can scroll it. */
export function Pane({ label, className = '', ...props }: PaneProps) {
  return <div role="region" aria-label={label} tabIndex={0} className={`overflow-auto ${className}`} {...props} />
}
