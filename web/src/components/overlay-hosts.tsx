import { cloneElement, lazy, type ReactElement, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'

export type ToastOptions = {
  text: string
  tone?: 'good' | 'bad'
  /** Reverses the action; a failure is shown in another toast. */
  undo?: () => Promise<unknown>
}

const load = async () => import('./toast-host.tsx')
const ToastHost = lazy(load)
const TooltipHost = lazy(async () => import('./tooltip-host.tsx'))

/** Shows a message for some seconds and announces it to screen readers. */
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

/** A tooltip of a focusable element, shown by `tooltip-host.tsx`; not for information needed to understand a page. */
export function Tooltip({ text, children }: { text: string; children: ReactElement<Record<string, unknown>> }) {
  return cloneElement(children, { 'data-tooltip': text, 'aria-description': text })
}

/** Renders a lazily loaded popup from its first opening on, so that it also animates when it closes. */
export function LazyPopup({ isOpen, children }: { isOpen: boolean; children: ReactNode }) {
  const [wasOpened, setWasOpened] = useState(isOpen)
  if (isOpen && !wasOpened) setWasOpened(true)
  return (wasOpened || isOpen) && <Suspense>{children}</Suspense>
}

export type PopupProps = ReturnType<typeof usePopup>['popup']

/** State of a button that opens a popup of a lazy chunk, loaded when the pointer or the focus reaches the button. */
export function usePopup(load: () => Promise<unknown>) {
  const [isOpen, setIsOpen] = useState(false)
  const anchor = useRef<HTMLButtonElement>(null)
  function onOpenChange(open: boolean, { event }: { event: Event }) {
    // A click on the button closes the popup anyway.
    if (open || !(event.target instanceof Node && anchor.current?.contains(event.target))) setIsOpen(open)
  }
  return {
    trigger: {
      ref: anchor,
      'aria-expanded': isOpen,
      onPointerEnter: () => void load(),
      onFocus: () => void load(),
      onClick: () => setIsOpen(!isOpen),
    },
    popup: { anchor, open: isOpen, onOpenChange },
    close: () => setIsOpen(false),
  }
}
