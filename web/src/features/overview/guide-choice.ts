import { useSyncExternalStore } from 'react'

/** Whether the user shows or hides the checklist of an organization, stored in the browser. By default, a new one shows it. */
type GuideChoice = 'hidden' | 'shown'

const listeners = new Set<() => void>()
const keyOf = (organization: string) => `groundstate-first-steps ${organization}`

export function useGuideChoice(organization: string): GuideChoice | undefined {
  return useSyncExternalStore(
    (draw) => {
      listeners.add(draw)
      return () => listeners.delete(draw)
    },
    () => {
      const stored = localStorage.getItem(keyOf(organization))
      return stored === 'hidden' || stored === 'shown' ? stored : undefined
    },
  )
}

export function setGuideChoice(organization: string, choice: GuideChoice) {
  localStorage.setItem(keyOf(organization), choice)
  for (const draw of listeners) draw()
}
