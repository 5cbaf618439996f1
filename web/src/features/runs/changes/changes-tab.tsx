import { Hourglass, ScrollText } from 'lucide-react'
import { failureOf } from '../../../api/queries.ts'
import { buttonClass } from '../../../components/button.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../../components/feedback.tsx'
import { Diagnostics, useDiagnostics } from '../log/diagnostics.tsx'
import { hasEnded, hasLog, hasStarted, retentionText } from '../log/log-store.ts'
import { missingLogReason } from '../log/log-tab.tsx'
import { TabLink } from '../run-navigation.tsx'
import type { Plan, Run, RunDocument } from '../run.ts'
import { isPlanPending, unavailableReason, usePlanModel } from './plan-model.ts'
import { PlannedChanges } from './planned-changes.tsx'

type ChangesTabProps = Pick<RunDocument, 'run' | 'plan' | 'apply' | 'workspace'>

/** The plan as a diff, with the progress of its apply. */
export function ChangesTab({ run, plan, apply, workspace }: ChangesTabProps) {
  const isAvailable = plan !== undefined && hasEnded(plan) && plan.attributes['json-deleted-at'] === null
  const model = usePlanModel(plan?.id, isAvailable)
  const diagnostics = useDiagnostics(plan, apply)
  if (!plan) return <Skeleton />
  if (!hasEnded(plan)) {
    return (
      <EmptyState icon={Hourglass} title={hasStarted(plan) ? 'Plan running' : 'Plan pending'} actions={<OpenLogLink />}>
        <p>
          {hasStarted(plan)
            ? 'The changes appear here when the plan finishes. See the log for its progress.'
            : 'No agent has started the plan. The changes appear here when it finishes.'}
        </p>
      </EmptyState>
    )
  }
  if (isAvailable && model.isPending) {
    if (!isPlanPending(model.failureReason)) return <Skeleton rows={6} label="Loading changes" />
    return (
      <EmptyState icon={Hourglass} title="Processing plan…" actions={<OpenLogLink />}>
        <p>The apply started before the agent had uploaded the plan. The changes appear here shortly.</p>
      </EmptyState>
    )
  }
  const unavailable = isAvailable ? unavailableReason(model.error) : undefined
  const failure = isAvailable && unavailable === undefined ? failureOf(model) : undefined
  if (failure) return <ErrorNote {...failure} />
  if (isAvailable && model.data) {
    return <PlannedChanges model={model.data} apply={apply} workspace={workspace} diagnostics={diagnostics} />
  }
  return (
    <div className="space-y-3">
      <Diagnostics diagnostics={diagnostics} />
      <EmptyState
        title={unavailable === undefined ? 'No changes to show' : 'Changes unavailable'}
        actions={hasLog(plan) && <OpenLogLink />}
      >
        <p>{unavailable ?? missingPlanReason(plan, run)}</p>
      </EmptyState>
    </div>
  )
}

function missingPlanReason(plan: Plan, run: Run) {
  if (!hasStarted(plan)) return missingLogReason('plan', plan, run)
  const { status, 'json-deleted-at': deletedAt } = plan.attributes
  if (status === 'errored') return `The plan failed.${hasLog(plan) ? ' See the log for details.' : ''}`
  if (status === 'canceled') return 'The plan was canceled.'
  if (deletedAt !== null) return `The plan data ${retentionText(plan, deletedAt)}.`
  return 'The plan has no structured data. See the log for its output.'
}

function OpenLogLink() {
  return (
    <TabLink search={{ part: 'log', phase: 'plan' }} isMerged className={buttonClass()}>
      <ScrollText size={16} />
      Open log
    </TabLink>
  )
}
