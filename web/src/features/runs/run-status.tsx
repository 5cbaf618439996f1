import type { Wire } from '@groundstate/contract/responses'
import { RUN_STATUS_TABLE, type RunGroup, leadsTo } from '@groundstate/contract/run-status'
import type { runSchema } from '@groundstate/contract/runs'
import { CircleDashed } from 'lucide-react'
import { Badge, StatusText } from '../../components/status.tsx'
import { GROUP_LOOKS } from './run-groups.ts'

type RunAttributes = Wire<typeof runSchema>['attributes']
/** What the state of a run is told by. */
export type RunFacts = Pick<RunAttributes, 'status' | 'plan-only'> &
  Partial<Pick<RunAttributes, 'actions' | 'has-changes'>>

/** The state of a run in the words of the field. */
export function runState(run: RunFacts): { text: string; group: RunGroup } {
  const { label: text, group } = RUN_STATUS_TABLE[run.status]
  // A plan that waits for a person has the same status as one that goes on by itself.
  if (run.actions && group === 'needs_approval' && leadsTo(run.status, 'confirmed')) {
    return run.actions['is-confirmable'] ? { text: 'needs approval', group } : { text, group: 'running' }
  }
  if (run.status === 'planned_and_finished' && !run['plan-only'] && run['has-changes'] === false) {
    return { text: 'no changes', group }
  }
  return { text, group }
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
