import { useEffect, useEffectEvent } from 'react'

/** Longest pause between two keys of a sequence, in ms. */
const SEQUENCE_MS = 1200

/** Calls `act` with the pressed shortcut: `Ctrl K`, `?`, or a sequence such as `g w`. */
export function useShortcuts(act: (keys: string) => void) {
  const onShortcut = useEffectEvent(act)
  useEffect(() => {
    let before = ''
    let at = 0
    function onKeyDown(event: KeyboardEvent) {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return onShortcut('Ctrl K')
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return undefined
      if (event.key === '/') {
        const [search] = document.querySelectorAll<HTMLInputElement>(':is(main, header) input[type=search]')
        if (!search) return undefined
        event.preventDefault()
        return search.focus()
      }
      if (event.key === '?') return onShortcut('?')
      if (before === 'g' && event.timeStamp - at < SEQUENCE_MS) onShortcut(`g ${event.key}`)
      before = event.key
      at = event.timeStamp
      return undefined
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}

function isTyping(target: EventTarget | null) {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  )
}
