import { duration, useSeconds } from '../../components/time.tsx'

/** The time that is left until a moment; it ticks. */
export function Countdown({ to }: { to: string }) {
  return (
    <time dateTime={to} role="timer" className="numeric whitespace-nowrap">
      {duration(new Date(to).getTime() - useSeconds())}
    </time>
  )
}
