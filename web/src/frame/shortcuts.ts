import { useEffect, useRef } from 'react'

/** All keyboard shortcuts. None of them modifies data. */
export const SHORTCUTS = [
  { keys: 'Ctrl K', does: 'Go to a workspace, a run or a page' },
  { keys: '/', does: 'Search in the list of the page' },
  { keys: 'g o', does: 'Overview' },
  { keys: 'g w', does: 'Workspaces' },
  { keys: 'g r', does: 'Runs' },
  { keys: '?', does: 'All keys' },
] as const

const SEQUENCE_MS = 1200

/** Calls `act` with the keys that were pressed: `Ctrl K`, `?`, or two in sequence such as `g w`. */
export function useShortcuts(act: (keys: string) => void) {
  const latest = useRef(act)
  useEffect(() => {
    latest.current = act
  }, [act])
  useEffect(() => {
    let before = ''
    let at = 0
    function onKeyDown(event: KeyboardEvent) {
      if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
        event.preventDefault()
        return latest.current('Ctrl K')
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return undefined
      if (event.key === '/') {
        const search = document.querySelector<HTMLInputElement>('main input[type=search]')
        if (!search) return undefined
        event.preventDefault()
        return search.focus()
      }
      if (event.key === '?') return latest.current('?')
      if (before === 'g' && event.timeStamp - at < SEQUENCE_MS) latest.current(`g ${event.key}`)
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
