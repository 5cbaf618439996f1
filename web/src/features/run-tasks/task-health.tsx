import { counted } from '../../components/numbers.ts'
import { Badge } from '../../components/status.tsx'
import { RelativeTime } from '../../components/time.tsx'
import type { TaskHealth } from './run-tasks.ts'

const BAR_PITCH = 3
const BAR_HEIGHT = 16

/** One bar per delivery, the latest on the right: a failed one is taller, as well as red. */
function HealthBars({ recent }: { recent: readonly boolean[] }) {
  const width = recent.length * BAR_PITCH
  return (
    <svg aria-hidden="true" width={width} height={BAR_HEIGHT} viewBox={`0 0 ${width} ${BAR_HEIGHT}`}>
      {recent.map((succeeded, index) => (
        <rect
          // oxlint-disable-next-line react/no-array-index-key -- bars have no other identity
          key={index}
          x={index * BAR_PITCH}
          y={succeeded ? BAR_HEIGHT / 2 : 0}
          width={BAR_PITCH - 1}
          height={succeeded ? BAR_HEIGHT / 2 : BAR_HEIGHT}
          className={succeeded ? 'fill-good' : 'fill-bad'}
        />
      ))}
    </svg>
  )
}

/** The health of a task, for lists. */
export function HealthLine({ health }: { health: TaskHealth | undefined }) {
  if (!health || health.recent.length === 0) return <span className="text-dim">No requests yet</span>
  return (
    <span className="block">
      <HealthBars recent={health.recent} />
      <span className="numeric whitespace-nowrap">
        {health.failed === 0 ? (
          <span className="text-dim">{health.succeeded} delivered</span>
        ) : (
          <span className="text-bad">
            {health.failed} of {health.recent.length} failed
          </span>
        )}
        {health['median-ms'] !== null && <span className="text-dim"> · {milliseconds(health['median-ms'])}</span>}
      </span>
    </span>
  )
}

/** The health of a task with response times and the last error. */
export function HealthSummary({ health }: { health: TaskHealth | undefined }) {
  if (!health || health.recent.length === 0)
    return <p className="text-dim">No requests yet. Each run at a stage of this task sends one.</p>
  const { 'median-ms': median, 'p95-ms': slow, 'last-error': error, 'last-error-at': failedAt } = health
  return (
    <div className="space-y-2">
      <div className="flex flex-wrap items-center gap-x-4 gap-y-1">
        <HealthBars recent={health.recent} />
        <span className="numeric">
          {health.succeeded} of the last {counted(health.recent.length, 'request')} delivered
        </span>
        {median !== null && slow !== null && (
          <span className="numeric text-dim">
            response time {milliseconds(median)} median, {milliseconds(slow)} 95th percentile
          </span>
        )}
        {health['last-sent-at'] !== null && (
          <span className="text-dim">
            last sent <RelativeTime at={health['last-sent-at']} />
          </span>
        )}
      </div>
      {error !== null && failedAt !== null && (
        <p>
          <Badge tone="bad" text="last error" /> {error} <RelativeTime at={failedAt} className="text-dim" />
        </p>
      )}
    </div>
  )
}

/** "120 ms", "1.4 s". */
export function milliseconds(ms: number) {
  return ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`
}
