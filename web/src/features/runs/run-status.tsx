import { FINAL_STATUSES, RUN_STATUS_TABLE, type RunGroup, leadsTo } from '@groundstate/contract/run-status'
import { Ban, CircleCheck, CircleDashed, CircleX, Clock, Hand, LoaderCircle, Trash2 } from 'lucide-react'
import { Badge, type StatusStyle, StatusText } from '../../components/status.tsx'
import type { Run } from './run.ts'

type RunAttributes = Run['attributes']
export type RunStatusFields = Pick<RunAttributes, 'status' | 'plan-only'> &
  Partial<Pick<RunAttributes, 'actions' | 'has-changes'>>

export const RUN_GROUP_STYLE = {
  needs_approval: { text: 'Needs approval', tone: 'accent', icon: Hand },
  errored: { text: 'Errored', tone: 'bad', icon: CircleX },
  running: { text: 'Running', tone: 'busy', icon: LoaderCircle },
  waiting: { text: 'Waiting', tone: 'warn', icon: Clock },
  finished: { text: 'Finished', tone: 'good', icon: CircleCheck },
  stopped: { text: 'Stopped', tone: 'quiet', icon: Ban },
} as const satisfies Record<RunGroup, StatusStyle & { text: string }>

export function runState(run: RunStatusFields): { text: string; group: RunGroup } {
  const { label: text, group } = RUN_STATUS_TABLE[run.status]
  // A plan that needs approval and one that continues automatically have the same status.
  if (run.actions && group === 'needs_approval' && leadsTo(run.status, 'confirmed')) {
    return run.actions['is-confirmable'] ? { text: 'needs approval', group } : { text, group: 'running' }
  }
  if (run.status === 'planned_and_finished' && !run['plan-only'] && run['has-changes'] === false) {
    return { text: 'no changes', group }
  }
  return { text, group }
}

export function RunStatus({ run, isBadge = false }: { run: RunStatusFields; isBadge?: boolean }) {
  const { text, group } = runState(run)
  const style = { ...RUN_GROUP_STYLE[group], text }
  return isBadge ? <Badge {...style} /> : <StatusText {...style} isBusy={group === 'running'} />
}

/** Status of a workspace without a current run; plan-only runs never become current. */
export function NoRun({ hasPlans = false }: { hasPlans?: boolean }) {
  return <StatusText tone="quiet" icon={CircleDashed} text={hasPlans ? 'no applied run' : 'no runs'} />
}

type BadgeFields = Pick<RunAttributes, 'is-destroy' | 'plan-only' | 'refresh-only' | 'save-plan'>

export function RunBadges({ run }: { run: BadgeFields }) {
  return (
    <>
      {run['is-destroy'] && <Badge tone="bad" icon={Trash2} text="destroy" />}
      {run['plan-only'] && <Badge>plan only</Badge>}
      {run['refresh-only'] && <Badge>refresh only</Badge>}
      {run['save-plan'] && <Badge>saved plan</Badge>}
    </>
  )
}

export function runEndedAt(run: Pick<RunAttributes, 'status' | 'status-timestamps' | 'updated-at'>) {
  if (!FINAL_STATUSES.includes(run.status)) return null
  return run['status-timestamps'][`${run.status.replaceAll('_', '-')}-at`] ?? run['updated-at']
}
