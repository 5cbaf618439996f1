import type { WaitingFiring } from './firing-store.ts'

/** A chain of runs is cut after this many links. Without it, workspaces that trigger each other would never come to rest. */
export const MAX_LINKS = 25

export const REASONS = {
  deleted: 'the workspace has been deleted',
  cut: `the chain of runs has ${MAX_LINKS} links, which is the longest possible: it is cut here`,
  unchanged: (source: string) => `outputs unchanged: nothing that the workspace reads from ${source} has changed`,
} as const

/** The message has no room for more causes; the run's relationships name all of them. */
const NAMED_CAUSES = 20

/** `Triggered by run-1 in network and run-2 in dns`. */
export function triggeredMessage(firings: readonly Pick<WaitingFiring, 'source_run_id' | 'source_name'>[]) {
  const named = firings.slice(0, NAMED_CAUSES).map((firing) => `${firing.source_run_id} in ${firing.source_name}`)
  const more = firings.length - named.length
  const causes = more > 0 ? [...named, `${more} more`] : named
  return `Triggered by ${CONJUNCTION.format(causes)}`
}

const CONJUNCTION = new Intl.ListFormat('en-GB', { type: 'conjunction' })
