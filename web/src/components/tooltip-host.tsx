import { Tooltip } from '@base-ui/react/tooltip'
import { useEffect, useState } from 'react'

const DELAY_MS = 300

/** Shows the tooltip of the element under the pointer or with the focus, at first that of `first`. Load this file lazily. */
export default function TooltipHost({ first }: { first: HTMLElement }) {
  const [anchor, setAnchor] = useState<HTMLElement>()
  const [isOpen, setIsOpen] = useState(false)

  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    let timer: ReturnType<typeof setTimeout> | undefined
    function hide() {
      clearTimeout(timer)
      setIsOpen(false)
    }
    /** Shows the tooltip of the event's target if that matches the selector, else hides the current one. */
    function show(target: EventTarget | null, selector: string, delay = 0) {
      const element = target instanceof Element ? target.closest<HTMLElement>('[data-tooltip]') : null
      if (!element || !(target as Element).matches(selector)) return hide()
      clearTimeout(timer)
      timer = setTimeout(() => {
        setAnchor(element)
        setIsOpen(true)
      }, delay)
      return undefined
    }
    if (first.matches(':focus-visible')) show(first, '*')
    else if (first.matches(':hover')) show(first, '*', DELAY_MS)
    document.addEventListener(
      'pointerover',
      ({ target, pointerType }) => pointerType !== 'touch' && show(target, '*', DELAY_MS),
      { signal },
    )
    document.addEventListener('focusin', ({ target }) => show(target, ':focus-visible'), { signal })
    document.addEventListener('focusout', hide, { signal })
    // A press on a touch screen or on a disabled button shows the tooltip immediately.
    const disabled = '[data-tooltip][aria-disabled=true], [data-tooltip][aria-disabled=true] *'
    document.addEventListener('click', ({ target }) => show(target, disabled), { signal })
    document.addEventListener('keydown', ({ key }) => key === 'Escape' && hide(), { signal })
    window.addEventListener('scroll', hide, { capture: true, signal })
    return () => {
      hide()
      controller.abort()
    }
  }, [first])

  const text = anchor?.dataset['tooltip']
  if (!anchor || text === undefined) return null
  return (
    <Tooltip.Root open={isOpen && anchor.isConnected}>
      {/* Portals must be inside a landmark. */}
      <Tooltip.Portal container={document.querySelector<HTMLElement>('main')}>
        <Tooltip.Positioner anchor={anchor} sideOffset={6} className="pointer-events-none z-50">
          <Tooltip.Popup className="max-w-80 rounded-md bg-ink px-2 py-1 text-xs whitespace-pre-line text-ground">
            {text}
          </Tooltip.Popup>
        </Tooltip.Positioner>
      </Tooltip.Portal>
    </Tooltip.Root>
  )
}
