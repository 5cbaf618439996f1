import { describeFault, type Fault } from './faults.ts'
import type { Journal } from './journal.ts'

/** Time after the end of a fault that counts as its recovery, in ms. */
const RECOVERY_MS = 5000

/** The longest time without any acknowledged write during each fault and shortly after it, a line per fault. */
export function longestGaps({ writes }: Journal, { plan, startedAt }: { plan: readonly Fault[]; startedAt: number }) {
  return plan.map((fault) => {
    const from = startedAt + fault.at
    const to = from + (fault.kind === 'kill' ? 0 : fault.ms) + RECOVERY_MS
    const times = [from, ...writes.map(({ at }) => at).filter((at) => at > from && at < to), to]
    const gap = Math.max(...times.slice(1).map((at, index) => at - (times[index] ?? at)))
    return `${describeFault(fault)}: no write for ${(gap / 1000).toFixed(1)} s`
  })
}
