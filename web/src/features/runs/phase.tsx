import { Badge } from '../../components/feedback.tsx'
import { Log } from './log.tsx'
import { RunStatus } from './run-status.tsx'
import type { PhaseOnWire, RunEnding } from './runs.ts'
import { Absence, Step } from './step.tsx'

const UNSTARTED = new Set(['pending', 'created'])
const OVER = new Set(['finished', 'errored', 'canceled', 'unreachable'])

/** Whether a phase ended before an agent started it: it has no log. */
export function wasNeverBegun({ attributes }: PhaseOnWire) {
  return OVER.has(attributes.status) && attributes['status-timestamps']['started-at'] === undefined
}

const ENDINGS: Readonly<Record<string, string>> = {
  canceled: 'the run was canceled',
  force_canceled: 'the run was canceled by force',
  discarded: 'the run was discarded',
  planned_and_finished: 'there is nothing to change',
}

/** Why a run ended early; undefined while it goes on, or when the reason is unknown. */
export function whyEnded(run: RunEnding): string | undefined {
  if (run.status === 'planned_and_finished' && run['plan-only']) return 'the run is for its plan only'
  return run['error-message'] ?? ENDINGS[run.status]
}

/** A plan or an apply that has started: its log, or a note that it never began. */
export function Phase({
  title,
  phase,
  reason,
}: {
  title: 'Plan' | 'Apply'
  phase: PhaseOnWire | undefined
  reason: string | undefined
}) {
  if (!phase || UNSTARTED.has(phase.attributes.status)) return null
  const { attributes } = phase
  if (wasNeverBegun(phase)) {
    const what = title === 'Apply' && attributes.status === 'unreachable' ? 'not reached' : 'never started'
    return (
      // Not an error colour: if something went wrong, it did so elsewhere.
      <Step title={title} status={<Badge tone="quiet">{attributes.status}</Badge>}>
        <Absence>
          The {title.toLowerCase()} was {what}
          {reason === undefined ? '.' : `: ${reason}`}
        </Absence>
      </Step>
    )
  }
  const counts = [attributes['resource-additions'], attributes['resource-changes'], attributes['resource-destructions']]
  return (
    <Step
      title={title}
      status={
        <>
          <RunStatus status={attributes.status} />
          {counts.every((count) => count !== null) && (
            <span className="text-sm text-slate-500">
              {counts[0]} to add, {counts[1]} to change, {counts[2]} to destroy
            </span>
          )}
        </>
      }
    >
      {attributes['log-read-url'] && <Log key={phase.id} url={attributes['log-read-url']} />}
    </Step>
  )
}
