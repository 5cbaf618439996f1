import { useSyncExternalStore } from 'react'

const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['year', 31_536_000],
  ['month', 2_592_000],
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
]
const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

/** One clock for all times on a page. They change together, and not during a render. */
function ticker(everyMs: number) {
  let now = Date.now()
  let timer: ReturnType<typeof setInterval> | undefined
  const listeners = new Set<() => void>()
  return {
    now: () => now,
    subscribe(draw: () => void) {
      listeners.add(draw)
      // Nothing has ticked while no one looked.
      if (timer === undefined) now = Date.now()
      timer ??= setInterval(() => {
        now = Date.now()
        for (const listener of listeners) listener()
      }, everyMs)
      return () => {
        listeners.delete(draw)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}
const minutes = ticker(10_000)
const seconds = ticker(1000)

/** "3 min. ago", with the exact time on hover. */
export function RelativeTime({ at }: { at: string }) {
  const now = useSyncExternalStore(minutes.subscribe, minutes.now)
  return (
    <time dateTime={at} title={exactTime(at)} className="whitespace-nowrap">
      {relativeTime(new Date(at).getTime() - now)}
    </time>
  )
}

/** The clock of a page is behind by up to this long, so that what has just happened seems to be ahead. */
const LAG_S = 15

/** `ms` is negative for the past. A time within the last minute is "just now". */
export function relativeTime(ms: number) {
  const s = Math.round(ms / 1000)
  const step = STEPS.find(([, size]) => Math.abs(s) >= size)
  if (!step) return s > LAG_S ? 'in less than a minute' : 'just now'
  const [unit, size] = step
  return format.format(Math.trunc(s / size), unit)
}

/** The exact time in the reader's zone: "22 Nov 2026, 12:04:31". */
export function exactTime(at: string) {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** How long something has taken; it ticks while there is no end. */
export function Elapsed({ from, to }: { from: string; to?: string | null | undefined }) {
  const now = useSyncExternalStore(to ? noTicks : seconds.subscribe, seconds.now)
  const end = to ? new Date(to).getTime() : now
  return <span className="numeric whitespace-nowrap">{duration(end - new Date(from).getTime())}</span>
}

/** The present time in ms, once a second: for what counts down. */
export function useSeconds() {
  return useSyncExternalStore(seconds.subscribe, seconds.now)
}

function noTicks() {
  return () => {}
}

/** "8 s", "2 min 5 s", "1 h 3 min", from ms. */
export function duration(ms: number) {
  const s = Math.max(0, Math.round(ms / 1000))
  if (s < 60) return `${s} s`
  const m = Math.floor(s / 60)
  if (m < 60) return s % 60 === 0 ? `${m} min` : `${m} min ${s % 60} s`
  const h = Math.floor(m / 60)
  if (h < 48) return m % 60 === 0 ? `${h} h` : `${h} h ${m % 60} min`
  return `${Math.floor(h / 24)} d ${h % 24} h`
}

/** The time that is left until a moment; it ticks. */
export function Countdown({ to }: { to: string }) {
  return (
    <time dateTime={to} role="timer" className="numeric whitespace-nowrap">
      {duration(new Date(to).getTime() - useSeconds())}
    </time>
  )
}
