import { cloneElement, lazy, type ReactElement, type ReactNode, Suspense, useEffect, useRef, useState } from 'react'
import { errorOf } from '../api/client.ts'

export type ToastOptions = {
  text: string
  tone?: 'good' | 'bad'
  /** Reverses the action; a failure is shown in another toast. */
  undo?: () => Promise<unknown>
}

const ToastHost = lazy(async () => import('./toast-host.tsx'))
const TooltipHost = lazy(async () => import('./tooltip-host.tsx'))

let showToast: (options: ToastOptions) => void = () => {}

/** Shows a message for some seconds and announces it to screen readers. */
export function toast(options: ToastOptions) {
  showToast(options)
}

/** Runs an action that has no place to show its error, such as that of a menu: the error is a toast. */
export async function attempt(act: () => Promise<unknown>) {
  try {
    await act()
  } catch (cause) {
    toast({ text: errorOf(cause).message, tone: 'bad' })
  }
}

/** Hosts of toasts and tooltips, rendered once. Each is loaded for the first toast or tooltip. */
export function OverlayHosts() {
  const [toasts, setToasts] = useState<readonly ToastOptions[]>([])
  const [anchor, setAnchor] = useState<HTMLElement>()
  const hasAnchor = anchor !== undefined
  useEffect(() => {
    showToast = (options) => setToasts((before) => [...before, options])
    return () => {
      showToast = () => {}
    }
  }, [])
  useEffect(() => {
    if (hasAnchor) return undefined
    const controller = new AbortController()
    const find = ({ target }: Event) => {
      const element = target instanceof Element ? target.closest<HTMLElement>('[data-tooltip]') : null
      if (element) setAnchor(element)
    }
    for (const event of ['pointerover', 'focusin', 'click'])
      document.addEventListener(event, find, { signal: controller.signal })
    return () => controller.abort()
  }, [hasAnchor])
  return (
    <Suspense>
      {toasts.length > 0 && <ToastHost toasts={toasts} />}
      {anchor && <TooltipHost first={anchor} />}
    </Suspense>
  )
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
