import { type ReactElement, Suspense, cloneElement, lazy, useEffect, useState } from 'react'

export type ToastOptions = { text: string; tone?: 'good' | 'bad' }

const load = async () => import('./toast-host.tsx')
const ToastHost = lazy(load)
const TooltipHost = lazy(async () => import('./tooltip-host.tsx'))

/** Tells that something is done, for a moment and to screen readers. */
export function toast(options: ToastOptions) {
  void load().then(({ addToast }) => addToast(options))
}

/** Hosts of toasts and tooltips, rendered once and loaded after the page. */
export function OverlayHosts() {
  const [isDue, setIsDue] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsDue(true), 0)
    return () => clearTimeout(timer)
  }, [])
  return isDue ? (
    <Suspense>
      <ToastHost />
      <TooltipHost />
    </Suspense>
  ) : null
}

/**
 * A tooltip of a focusable element. Information needed to understand a page does not belong in one. The element only
 * carries the text; `tooltip-host.tsx` shows it, and is loaded after the page.
 */
export function Tooltip({ text, children }: { text: string; children: ReactElement<Record<string, unknown>> }) {
  return cloneElement(children, { 'data-tooltip': text, 'aria-description': text })
}
