import { Tooltip } from '@base-ui/react/tooltip'
import { useEffect, useState } from 'react'

const DELAY_MS = 300

/** Shows the hint of the element that has the pointer or the focus. One for the whole page; load this file lazily. */
export default function TooltipHost() {
  const [anchor, setAnchor] = useState<HTMLElement>()
  const [isOpen, setIsOpen] = useState(false)

  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined
    function hide() {
      clearTimeout(timer)
      setIsOpen(false)
    }
    function show(target: EventTarget | null, delay: number) {
      const element = target instanceof Element ? target.closest<HTMLElement>('[data-tooltip]') : null
      if (!element) return hide()
      clearTimeout(timer)
      timer = setTimeout(() => {
        setAnchor(element)
        setIsOpen(true)
      }, delay)
      return undefined
    }
    const onPointer = (event: PointerEvent) => event.pointerType !== 'touch' && show(event.target, DELAY_MS)
    const onFocus = (event: FocusEvent) =>
      event.target instanceof Element && event.target.matches(':focus-visible') ? show(event.target, 0) : hide()
    // A press on a phone or on a button that is off shows why at once.
    const onPress = (event: MouseEvent) =>
      event.target instanceof Element && event.target.closest('[data-tooltip][aria-disabled=true]')
        ? show(event.target, 0)
        : hide()
    const onKey = (event: KeyboardEvent) => event.key === 'Escape' && hide()
    document.addEventListener('pointerover', onPointer)
    document.addEventListener('focusin', onFocus)
    document.addEventListener('focusout', hide)
    document.addEventListener('click', onPress)
    document.addEventListener('keydown', onKey)
    window.addEventListener('scroll', hide, true)
    return () => {
      hide()
      document.removeEventListener('pointerover', onPointer)
      document.removeEventListener('focusin', onFocus)
      document.removeEventListener('focusout', hide)
      document.removeEventListener('click', onPress)
      document.removeEventListener('keydown', onKey)
      window.removeEventListener('scroll', hide, true)
    }
  }, [])

  const text = anchor?.dataset['tooltip']
  if (!anchor || text === undefined) return null
  return (
    <Tooltip.Root open={isOpen && anchor.isConnected}>
      {/* Inside the content, which is a landmark. */}
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
