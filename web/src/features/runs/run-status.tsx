import { Badge, type Tone } from '../../components/feedback.tsx'

const GOOD = new Set(['applied', 'planned_and_finished', 'planned_and_saved', 'finished', 'passed'])
const BAD = new Set(['errored', 'failed', 'unreachable'])
const QUIET = new Set(['canceled', 'force_canceled', 'discarded'])
const WAITING = new Set([
  'pending',
  'planned',
  'post_plan_completed',
  'post_plan_awaiting_decision',
  'cost_estimated',
  'policy_checked',
  'awaiting_override',
])

/** Whether nothing more will happen to a run with this status. */
export function isFinal(status: string) {
  return status === 'applied' || status === 'planned_and_finished' || status === 'errored' || QUIET.has(status)
}

/** The status of a run, a phase, or a stage of run tasks. */
export function RunStatus({ status }: { status: string }) {
  return <Badge tone={tone(status)}>{status.replaceAll('_', ' ')}</Badge>
}

function tone(status: string): Tone {
  if (GOOD.has(status)) return 'good'
  if (BAD.has(status)) return 'bad'
  if (QUIET.has(status)) return 'quiet'
  return WAITING.has(status) ? 'waiting' : 'busy'
}
