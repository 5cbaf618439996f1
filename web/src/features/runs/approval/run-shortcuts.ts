import { type RefObject, useEffect, useEffectEvent } from 'react'

/** Shortcuts of the run page by the label of their button. They open its confirmation and never decide. */
export const RUN_SHORTCUTS = [
  { keys: 'a', label: 'Confirm & apply', action: 'Confirm & apply…' },
  { keys: 'd', label: 'Discard run', action: 'Discard run…' },
  { keys: 'c', label: 'Cancel run', action: 'Cancel run…' },
] as const

/** Further actions of the run page that the command palette has, by the label of their button. */
const OTHER_ACTIONS = ['Force-cancel run', 'Run next', 'Re-run', 'New plan']
const OPEN_EVENT = 'groundstate-open-run-action'
const BUTTONS = 'button[type=button]:not([aria-disabled=true])'

/** The actions that the open run page offers the user. */
export function offeredRunActions() {
  const buttons = document.querySelectorAll(`[data-run-actions] ${BUTTONS}`)
  const labels = new Set([...buttons].map((button) => button.textContent))
  return [...RUN_SHORTCUTS.map(({ label }) => label), ...OTHER_ACTIONS].filter((label) => labels.has(label))
}

/** Opens the confirmation of an action on the open run page. */
export function openRunAction(label: string) {
  document.dispatchEvent(new CustomEvent(OPEN_EVENT, { detail: label }))
}

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
    const onOpen = (event: Event) => event instanceof CustomEvent && onShortcut(String(event.detail))
    document.addEventListener('keydown', onKeyDown)
    document.addEventListener(OPEN_EVENT, onOpen)
    return () => {
      document.removeEventListener('keydown', onKeyDown)
      document.removeEventListener(OPEN_EVENT, onOpen)
    }
  }, [])
}
