import { counted } from '../../../components/numbers.ts'
import { exactTime } from '../../../components/time.tsx'
import type { Phase } from './log-store.ts'

const DAY_MS = 86_400_000

/** For how long something of a phase that is over was kept: "was kept for 90 days, until 12 May 2026, 10:00". */
export function wasKept({ attributes }: Phase, deletedAt: string) {
  const endedAt = attributes['status-timestamps'][`${attributes.status}-at`]
  const days = endedAt === undefined ? 0 : Math.floor((Date.parse(deletedAt) - Date.parse(endedAt)) / DAY_MS)
  return `was kept ${days > 0 ? `for ${counted(days, 'day')}, ` : ''}until ${exactTime(deletedAt)}`
}
