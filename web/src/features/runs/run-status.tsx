import type { Wire } from '@groundstate/contract/answers'
import type { RUN_GROUPS, RunGroup, runSchema } from '@groundstate/contract/runs'
import { CircleDashed } from 'lucide-react'
import { Badge, StatusText } from '../../components/status.tsx'
import { GROUP_LOOKS } from './run-groups.ts'

type RunAttributes = Wire<typeof runSchema>['attributes']
export type RunStatusName = RunAttributes['status']
/** What the state of a run is told by. */
export type RunFacts = Pick<RunAttributes, 'status' | 'plan-only'> &
  Partial<Pick<RunAttributes, 'actions' | 'has-changes'>>

/** The group that the contract puts a status into. */
type GroupOf<Status> = {
  [Group in RunGroup]: Status extends (typeof RUN_GROUPS)[Group][number] ? Group : never
}[RunGroup]

/** The words of the field for each status of the API. */
const STATES = {
  pending: { text: 'waiting', group: 'waiting' },
  fetching: { text: 'preparing', group: 'running' },
  fetching_completed: { text: 'preparing', group: 'running' },
  pre_plan_running: { text: 'pre-plan tasks', group: 'running' },
  pre_plan_completed: { text: 'pre-plan tasks done', group: 'running' },
  queuing: { text: 'plan queued', group: 'running' },
  plan_queued: { text: 'plan queued', group: 'waiting' },
  planning: { text: 'planning', group: 'running' },
  planned: { text: 'planned', group: 'needs_approval' },
  post_plan_running: { text: 'post-plan tasks', group: 'running' },
  post_plan_awaiting_decision: { text: 'needs a decision', group: 'needs_approval' },
  post_plan_completed: { text: 'post-plan tasks done', group: 'needs_approval' },
  planned_and_finished: { text: 'planned', group: 'finished' },
  planned_and_saved: { text: 'plan saved', group: 'finished' },
  confirmed: { text: 'approved', group: 'running' },
  pre_apply_running: { text: 'pre-apply tasks', group: 'running' },
  pre_apply_completed: { text: 'pre-apply tasks done', group: 'running' },
  queuing_apply: { text: 'apply queued', group: 'running' },
  apply_queued: { text: 'apply queued', group: 'waiting' },
  applying: { text: 'applying', group: 'running' },
  post_apply_running: { text: 'post-apply tasks', group: 'running' },
  post_apply_completed: { text: 'post-apply tasks done', group: 'running' },
  applied: { text: 'applied', group: 'finished' },
  discarded: { text: 'discarded', group: 'stopped' },
  canceled: { text: 'canceled', group: 'stopped' },
  force_canceled: { text: 'force-canceled', group: 'stopped' },
  errored: { text: 'errored', group: 'errored' },
} as const satisfies { [Status in RunStatusName]: { text: string; group: GroupOf<Status> } }

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
  if (run.actions && (run.status === 'planned' || run.status === 'post_plan_completed')) {
    return run.actions['is-confirmable'] ? { ...state, text: 'needs approval' } : { ...state, group: 'running' }
  }
  if (run.status === 'planned_and_finished' && !run['plan-only'] && run['has-changes'] === false) {
    return { ...state, text: 'no changes' }
  }
  return state
}

/** The state of a run, in a table or beside a title. */
export function RunStatus({ run, isBadge = false }: { run: RunFacts; isBadge?: boolean }) {
  const { text, group } = runState(run)
  const { tone, icon } = GROUP_LOOKS[group]
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
