import type { ComponentProps } from 'react'

/** A scrollable region; focusable, so that the arrow keys can scroll it. */
export function Pane({ label, className = '', ...props }: ComponentProps<'div'> & { label: string }) {
  return <div role="region" aria-label={label} tabIndex={0} className={`overflow-auto ${className}`} {...props} />
}
