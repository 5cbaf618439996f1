import type { ApplyEvent } from '../log/apply-events.ts'

/** How far the apply is with one resource. `since` is a time in ms, `seconds` what the steps so far have taken. */
export type Progress =
  | { state: 'running'; action: ApplyEvent['action']; since: number }
  | { state: 'done'; seconds: number; steps: number }
  | { state: 'failed' }

/** What the events of an apply say about each address. */
export function applyProgress(events: readonly ApplyEvent[]): ReadonlyMap<string, Progress> {
  const progress = new Map<string, Progress>()
  const taken = new Map<string, { seconds: number; steps: number }>()
  for (const { address, kind, action, seconds = 0, at } of events) {
    const before = taken.get(address) ?? { seconds: 0, steps: 0 }
    if (kind === 'failed') progress.set(address, { state: 'failed' })
    else if (kind === 'done') {
      const now = { seconds: before.seconds + seconds, steps: before.steps + 1 }
      taken.set(address, now)
      progress.set(address, { state: 'done', ...now })
    } else {
      const running = progress.get(address)
      const since = at - seconds * 1000
      // Text that was read late says only later how long ago it was.
      const isOn = kind === 'progress' && running?.state === 'running'
      progress.set(address, { state: 'running', action, since: isOn ? Math.min(running.since, since) : since })
    }
  }
  return progress
}
