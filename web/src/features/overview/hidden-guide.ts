import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
const keyOf = (organization: string) => `groundstate-hides-first-steps ${organization}`

/** Whether this browser hides the first steps of an organization, and the way to change that. */
export function useHiddenGuide(organization: string) {
  const isHidden = useSyncExternalStore(
    (draw) => {
      listeners.add(draw)
      return () => listeners.delete(draw)
    },
    () => localStorage.getItem(keyOf(organization)) !== null,
  )
  function setHidden(hides: boolean) {
    if (hides) localStorage.setItem(keyOf(organization), 'yes')
    else localStorage.removeItem(keyOf(organization))
    for (const draw of listeners) draw()
  }
  return { isHidden, setHidden }
}
