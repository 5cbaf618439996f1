import { useSyncExternalStore } from 'react'

/** What a person has chosen about the first steps of an organization; without a choice a new organization shows them. */
export type GuideChoice = 'hidden' | 'shown'

const listeners = new Set<() => void>()
const keyOf = (organization: string) => `groundstate-first-steps ${organization}`

/** The choice of this browser. */
export function useGuideChoice(organization: string): GuideChoice | undefined {
  return useSyncExternalStore(
    (draw) => {
      listeners.add(draw)
      return () => listeners.delete(draw)
    },
    () => readChoice(localStorage.getItem(keyOf(organization))),
  )
}

export function chooseGuide(organization: string, choice: GuideChoice) {
  localStorage.setItem(keyOf(organization), choice)
  for (const draw of listeners) draw()
}

function readChoice(text: string | null) {
  return text === 'hidden' || text === 'shown' ? text : undefined
}
