import { useSyncExternalStore } from 'react'

/** Units with their length, and the shortest time that is given in them, in s: tokens expire "in 90 days". */
const STEPS: [unit: Intl.RelativeTimeFormatUnit, size: number, from: number][] = [
  ['year', 31_536_000, 63_072_000],
  ['month', 2_592_000, 8_640_000],
  ['day', 86_400, 86_400],
  ['hour', 3600, 3600],
  ['minute', 60, 60],
]
const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto', style: 'short' })

/** A clock shared by all times on a page, so that they change together and never during a render. */
function ticker(everyMs: number) {
  let now = Date.now()
  let timer: ReturnType<typeof setInterval> | undefined
  const listeners = new Set<() => void>()
  return {
    now: () => now,
    subscribe(listener: () => void) {
      listeners.add(listener)
      // The clock does not tick without listeners.
      if (timer === undefined) now = Date.now()
      timer ??= setInterval(() => {
        now = Date.now()
        for (const notify of listeners) notify()
      }, everyMs)
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        clearInterval(timer)
        timer = undefined
      }
    },
  }
}
const minutes = ticker(10_000)
const seconds = ticker(1000)

/** The current time in ms, updated every 10 seconds. */
export function useNow() {
  return useSyncExternalStore(minutes.subscribe, minutes.now)
}

/** "3 min. ago", with the exact time on hover. */
export function RelativeTime({ at, className = '' }: { at: string; className?: string }) {
  const now = useNow()
  return (
    <time dateTime={at} title={exactTime(at)} className={`whitespace-nowrap ${className}`}>
      {relativeTime(new Date(at).getTime() - now)}
    </time>
  )
}

/** Lag of the page's clock, because of which recent times may be in the future. */
const LAG_S = 15

/** A time in words; `ms` is negative for the past. */
export function relativeTime(ms: number) {
  const s = Math.round(ms / 1000)
  // Seconds after a token was created it still expires "in 90 days", while a past unit is complete.
  const step = STEPS.find(([, , from]) => (s > 0 ? s + LAG_S : -s) >= from)
  if (!step) return s > LAG_S ? 'in less than a minute' : 'just now'
  const [unit, size] = step
  return format.format(s > 0 ? Math.round(s / size) : Math.trunc(s / size), unit)
}

/** The time in the user's time zone: "22 Nov 2026, 12:04:31". */
export function exactTime(at: string) {
  return new Date(at).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })
}

/** A text of the server with its times in the user's time zone. */
export function withLocalTimes(text: string) {
  return text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, (at) => exactTime(at))
}

const neverTick = () => () => {}
type ElapsedProps = { from: string; to?: string | null | undefined; className?: string }

/** A duration that counts up until `to` is known. */
export function Elapsed({ from, to, className = '' }: ElapsedProps) {
  const now = useSyncExternalStore(to ? neverTick : seconds.subscribe, seconds.now)
  const end = to ? new Date(to).getTime() : now
  return <span className={`numeric whitespace-nowrap ${className}`}>{duration(end - new Date(from).getTime())}</span>
}

/** The current time in ms, updated every second. */
export function useSeconds() {
  return useSyncExternalStore(seconds.subscribe, seconds.now)
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

export function Countdown({ to }: { to: string }) {
  return (
    <time dateTime={to} role="timer" className="numeric whitespace-nowrap">
      {duration(new Date(to).getTime() - useSeconds())}
    </time>
  )
}
