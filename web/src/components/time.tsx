const STEPS: [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
]
const format = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })

/** "3 minutes ago", with the moment itself on hover. */
export function Ago({ at }: { at: string }) {
  const seconds = Math.round((new Date(at).getTime() - Date.now()) / 1000)
  const [unit, size] = STEPS.find(([, step]) => Math.abs(seconds) >= step) ?? ['second', 1]
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()}>
      {format.format(Math.trunc(seconds / size), unit)}
    </time>
  )
}
