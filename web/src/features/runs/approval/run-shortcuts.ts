import { type RefObject, useEffect, useEffectEvent } from 'react'

/** Shortcuts of the run page by the label of their button. They open its confirmation and never decide. */
export const RUN_SHORTCUTS = [
  { keys: 'a', label: 'Confirm & apply', action: 'Confirm & apply…' },
  { keys: 'd', label: 'Discard run', action: 'Discard run…' },
  { keys: 'c', label: 'Cancel run', action: 'Cancel run…' },
] as const

/** The second key of a sequence such as `g a` is none of ours, in ms. */
const SEQUENCE_MS = 1200

/** Presses the button of a shortcut in the panel; `open` makes a closed panel visible first. */
export function useRunShortcuts(panel: RefObject<HTMLElement | null>, open: () => void) {
  const onShortcut = useEffectEvent((label: string) => {
    // A button that submits a confirmation has the same label.
    const buttons = panel.current?.querySelectorAll<HTMLButtonElement>('button[type=button]') ?? []
    const button = [...buttons].find((own) => own.textContent === label)
    if (!button) return
    open()
    button.focus()
    button.click()
  })
  useEffect(() => {
    let sequenceAt = Number.NEGATIVE_INFINITY
    function onKeyDown(event: KeyboardEvent) {
      const { key, target, timeStamp } = event
      if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return
      if (target instanceof HTMLElement && target.closest('input, textarea, select, [contenteditable], [role=dialog]'))
        return
      const isSecond = timeStamp - sequenceAt < SEQUENCE_MS
      sequenceAt = key === 'g' ? timeStamp : Number.NEGATIVE_INFINITY
      const shortcut = RUN_SHORTCUTS.find(({ keys }) => keys === key)
      if (!shortcut || isSecond) return
      // Otherwise the field that the confirmation focuses would receive the key.
      event.preventDefault()
      onShortcut(shortcut.label)
    }
    document.addEventListener('keydown', onKeyDown)
    return () => document.removeEventListener('keydown', onKeyDown)
  }, [])
}
