import { useEffect, useEffectEvent } from 'react'
import { Dialog } from '../components/dialog.tsx'

/** All keyboard shortcuts. None of them modifies data. */
const SHORTCUTS = [
  { keys: 'Ctrl K', action: 'Go to a workspace, run or page' },
  { keys: '/', action: 'Search this page' },
  { keys: 'g o', action: 'Overview' },
  { keys: 'g w', action: 'Workspaces' },
  { keys: 'g r', action: 'Runs' },
  { keys: '?', action: 'Keyboard shortcuts' },
] as const

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
        const search = document.querySelector<HTMLInputElement>('main input[type=search]')
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

export function ShortcutsDialog({ isOpen, onClose }: { isOpen: boolean; onClose: () => void }) {
  return (
    <Dialog title="Keyboard shortcuts" isOpen={isOpen} onClose={onClose} width="max-w-md">
      <dl className="grid grid-cols-[6rem_1fr] gap-y-2">
        {SHORTCUTS.map(({ keys, action }) => (
          <div key={keys} className="contents">
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key} className="mr-1 rounded border border-line-strong px-1.5 py-0.5 text-xs">
                  {key}
                </kbd>
              ))}
            </dt>
            <dd>{action}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
