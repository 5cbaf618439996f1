import { cloneElement, type ReactElement } from 'react'

/**
 * A hint at an element that can have the focus. What is needed to understand a page does not stand in one. The element only
 * carries the text; `tooltip-host.tsx` shows it, and is loaded after the page.
 */
export function Tooltip({ text, children }: { text: string; children: ReactElement<Record<string, unknown>> }) {
  return cloneElement(children, { 'data-tooltip': text, 'aria-description': text })
}
