import { Link } from '@tanstack/react-router'
import { Hourglass, ScrollText } from 'lucide-react'
import { failureOf } from '../../../api/queries.ts'
import { buttonClass } from '../../../components/button.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../../components/feedback.tsx'
import { Diagnostics } from '../log/diagnostics.tsx'
import { whyNone, type RunPartProps } from '../log/log-part.tsx'
import { hasBegun, hasLog, isOver } from '../log/log-store.ts'
import { useDiagnostics } from '../log/use-diagnostics.ts'
import { wasKept } from '../log/was-kept.ts'
import type { RunDocument } from '../run.ts'
import { isOwed, usePlanModel, whyLost } from './plan-json.ts'
import { PlannedChanges } from './planned-changes.tsx'

/** What a run changes, or has changed: the plan as a diff, with the progress of its apply. */
export function ChangesPart({ run, plan, apply, workspace }: RunPartProps & Pick<RunDocument, 'workspace'>) {
  const isKept = plan !== undefined && isOver(plan) && plan.attributes['json-deleted-at'] === null
  const model = usePlanModel(plan?.id, isKept)
  const diagnostics = useDiagnostics(plan, apply)
  if (!plan) return <Skeleton />
  if (!isOver(plan)) {
    return (
      <EmptyState icon={Hourglass} title="The plan is being made" actions={<ToLog />}>
        <p>
          {hasBegun(plan)
            ? 'Its changes appear here when it is done. The log shows what the engine is at.'
            : 'No agent has started it yet. Its changes appear here when it is done.'}
        </p>
      </EmptyState>
    )
  }
  if (isKept && model.isPending) {
    if (!isOwed(model.failureReason)) return <Skeleton rows={6} label="Loading the changes" />
    return (
      <EmptyState icon={Hourglass} title="The changes are being worked out" actions={<ToLog />}>
        <p>The apply has begun before the agent has sent them. They appear here as soon as they are there.</p>
      </EmptyState>
    )
  }
  const lost = isKept ? whyLost(model.error) : undefined
  const failure = isKept && lost === undefined ? failureOf(model) : undefined
  if (failure) return <ErrorNote {...failure} />
  if (isKept && model.data) {
    return <PlannedChanges model={model.data} apply={apply} workspace={workspace} diagnostics={diagnostics} />
  }
  return (
    <div className="space-y-3">
      <Diagnostics diagnostics={diagnostics} />
      <EmptyState
        title={lost === undefined ? 'There are no changes to show' : "The changes can't be shown"}
        actions={hasLog(plan) && <ToLog />}
      >
        <p>{lost ?? whyNoPlan(plan, run)}</p>
      </EmptyState>
    </div>
  )
}

function whyNoPlan(plan: NonNullable<RunPartProps['plan']>, run: RunPartProps['run']) {
  if (!hasBegun(plan)) return whyNone('plan', plan, run)
  const { status } = plan.attributes
  if (status === 'errored')
    return `The plan failed, so nothing was planned.${hasLog(plan) ? ' The log shows how far it came.' : ''}`
  if (status === 'canceled') return 'The plan was canceled before it was done.'
  const deletedAt = plan.attributes['json-deleted-at']
  if (deletedAt !== null) return `What the plan would change ${wasKept(plan, deletedAt)}.`
  return 'The plan was not kept in a form that can be shown. The log has what the engine printed.'
}

function ToLog() {
  return (
    <Link
      from="/app/$organization/workspaces/$workspace/runs/$run"
      to="."
      search={(before) => ({ ...before, part: 'log', phase: 'plan' })}
      className={buttonClass()}
    >
      <ScrollText size={16} aria-hidden="true" />
      Open the log
    </Link>
  )
}
