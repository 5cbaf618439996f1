import { useSyncExternalStore } from 'react'

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
]
const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

const TICK_MS = 10_000

/** One clock for all times on a page. They change together, and not during a render. */
let now = Date.now()
function onTick(draw: () => void) {
  const timer = setInterval(() => {
    now = Date.now()
    draw()
  }, TICK_MS)
  return () => clearInterval(timer)
}

/** "3 minutes ago", with the exact time on hover. Times after the last tick show as "now". */
export function Ago({ at }: { at: string }) {
  const present = useSyncExternalStore(onTick, () => now)
  const seconds = Math.min(0, Math.round((new Date(at).getTime() - present) / 1000))
  const [unit, size] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1]
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {format.format(Math.trunc(seconds / size), unit)}
    </time>
  )
}
