import type { Wire } from '@groundstate/contract/answers'
import type { runSchema } from '@groundstate/contract/runs'
import { Ban, CircleCheck, CircleDashed, CircleX, Clock, Hand, LoaderCircle, type LucideIcon } from 'lucide-react'
import { Badge, StatusText, type Tone } from '../../components/status.tsx'

type RunAttributes = Wire<typeof runSchema>['attributes']
export type RunStatusName = RunAttributes['status']
/** What the state of a run is told by. */
export type RunFacts = Pick<RunAttributes, 'status' | 'plan-only'> &
  Partial<Pick<RunAttributes, 'actions' | 'has-changes'>>

/** What a person has to know about a state: whether they must act, whether it goes on by itself, how it ended. */
export type RunGroup = 'approval' | 'running' | 'waiting' | 'done' | 'failed' | 'stopped'

const GROUPS = {
  approval: { tone: 'accent', icon: Hand },
  running: { tone: 'busy', icon: LoaderCircle },
  waiting: { tone: 'warn', icon: Clock },
  done: { tone: 'good', icon: CircleCheck },
  failed: { tone: 'bad', icon: CircleX },
  stopped: { tone: 'quiet', icon: Ban },
} as const satisfies Record<RunGroup, { tone: Tone; icon: LucideIcon }>

/** The words of the field for each status of the API. */
const STATES = {
  pending: { text: 'waiting', group: 'waiting' },
  fetching: { text: 'preparing', group: 'running' },
  fetching_completed: { text: 'preparing', group: 'running' },
  pre_plan_running: { text: 'pre-plan tasks', group: 'running' },
  pre_plan_completed: { text: 'pre-plan tasks done', group: 'running' },
  queuing: { text: 'plan queued', group: 'waiting' },
  plan_queued: { text: 'plan queued', group: 'waiting' },
  planning: { text: 'planning', group: 'running' },
  planned: { text: 'planned', group: 'running' },
  post_plan_running: { text: 'post-plan tasks', group: 'running' },
  post_plan_awaiting_decision: { text: 'needs a decision', group: 'approval' },
  post_plan_completed: { text: 'post-plan tasks done', group: 'running' },
  planned_and_finished: { text: 'planned', group: 'done' },
  planned_and_saved: { text: 'plan saved', group: 'approval' },
  confirmed: { text: 'approved', group: 'running' },
  pre_apply_running: { text: 'pre-apply tasks', group: 'running' },
  pre_apply_completed: { text: 'pre-apply tasks done', group: 'running' },
  queuing_apply: { text: 'apply queued', group: 'waiting' },
  apply_queued: { text: 'apply queued', group: 'waiting' },
  applying: { text: 'applying', group: 'running' },
  post_apply_running: { text: 'post-apply tasks', group: 'running' },
  post_apply_completed: { text: 'post-apply tasks done', group: 'running' },
  applied: { text: 'applied', group: 'done' },
  discarded: { text: 'discarded', group: 'stopped' },
  canceled: { text: 'canceled', group: 'stopped' },
  force_canceled: { text: 'force-canceled', group: 'stopped' },
  errored: { text: 'errored', group: 'failed' },
} as const satisfies Record<RunStatusName, { text: string; group: RunGroup }>

const FINAL = new Set<RunStatusName>([
  'applied',
  'planned_and_finished',
  'errored',
  'discarded',
  'canceled',
  'force_canceled',
])

/** Whether nothing more will happen to a run with this status. */
export function isFinal(status: RunStatusName) {
  return FINAL.has(status)
}

/** The state of a run in the words of the field. */
export function runState(run: RunFacts): { text: string; group: RunGroup } {
  const state = STATES[run.status]
  // A plan that waits for a person has the same status as one that goes on by itself.
  if (run.actions?.['is-confirmable'] && state.group === 'running') return { text: 'needs approval', group: 'approval' }
  if (run.status === 'planned_and_finished' && !run['plan-only'] && run['has-changes'] === false) {
    return { text: 'no changes', group: 'done' }
  }
  return state
}

/** The state of a run, in a table or beside a title. */
export function RunStatus({ run, isBadge = false }: { run: RunFacts; isBadge?: boolean }) {
  const { text, group } = runState(run)
  const { tone, icon } = GROUPS[group]
  return isBadge ? (
    <Badge tone={tone} icon={icon}>
      {text}
    </Badge>
  ) : (
    <StatusText tone={tone} icon={icon} isBusy={group === 'running'}>
      {text}
    </StatusText>
  )
}

/** A workspace without a current run: it has had none, or only such as can't be applied. */
export function NoRun({ hasPlans = false }: { hasPlans?: boolean }) {
  return (
    <StatusText tone="quiet" icon={CircleDashed}>
      {hasPlans ? 'no applied run' : 'no runs'}
    </StatusText>
  )
}
