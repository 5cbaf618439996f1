import { getRouteApi, Link } from '@tanstack/react-router'
import { Button } from '../../components/button.tsx'
import { ErrorNote, Loading, WaitingNote } from '../../components/feedback.tsx'
import { Ago } from '../../components/time.tsx'
import { Phase, wasNeverBegun, whyEnded } from './phase.tsx'
import { RunStatus } from './run-status.tsx'
import { useRun, useRunAction } from './runs.ts'
import { TaskStageStep } from './task-stage.tsx'

const route = getRouteApi('/app/app/$organization/workspaces/$workspace/runs/$run')

export function RunPage() {
  const { organization, workspace, run: id } = route.useParams()
  const query = useRun(id)
  const action = useRunAction(id)
  if (query.isPending) return <Loading />
  if (query.error) return <ErrorNote error={query.error} />
  const { data: run, included = [] } = query.data
  const { attributes } = run
  const plan = included.find((item) => item.type === 'plans')
  const apply = included.find((item) => item.type === 'applies')
  const reason = whyEnded(attributes)
  const stages = new Map(query.data.stages.map((stage) => [stage.name, stage]))

  return (
    <>
      <nav className="text-sm text-slate-500" aria-label="Breadcrumb">
        <Link to="/app/$organization/workspaces" params={{ organization }} className="hover:underline">
          {organization}
        </Link>
        {' / '}
        <Link
          to="/app/$organization/workspaces/$workspace"
          params={{ organization, workspace }}
          className="hover:underline"
        >
          {workspace}
        </Link>
      </nav>
      <div className="mt-2 flex flex-wrap items-center gap-3">
        <h1 className="min-w-0 text-xl font-semibold tracking-tight">{attributes.message ?? run.id}</h1>
        <RunStatus status={attributes.status} />
      </div>
      <p className="mt-1 text-sm text-slate-500">
        {run.id} · created <Ago at={attributes['created-at']} />
      </p>
      {attributes['waiting-reason'] && <WaitingNote>Waiting: {attributes['waiting-reason']}</WaitingNote>}
      <div className="mt-4 flex gap-2">
        {attributes.actions['is-confirmable'] && (
          <Button kind="primary" disabled={action.isPending} onClick={() => action.mutate('apply')}>
            Apply
          </Button>
        )}
        {attributes.actions['is-discardable'] && (
          <Button disabled={action.isPending} onClick={() => action.mutate('discard')}>
            Discard
          </Button>
        )}
        {attributes.actions['is-cancelable'] && (
          <Button kind="danger" disabled={action.isPending} onClick={() => action.mutate('cancel')}>
            Cancel
          </Button>
        )}
        {attributes.actions['is-force-cancelable'] && (
          <Button kind="danger" disabled={action.isPending} onClick={() => action.mutate('force-cancel')}>
            Force cancel
          </Button>
        )}
      </div>
      {action.error && <ErrorNote error={action.error} />}
      <TaskStageStep stage={stages.get('pre_plan')} />
      <Phase title="Plan" phase={plan} reason={reason} />
      <TaskStageStep stage={stages.get('post_plan')} />
      <TaskStageStep stage={stages.get('pre_apply')} />
      {/* Once is enough: a plan that was never begun has told the reason. */}
      <Phase title="Apply" phase={apply} reason={plan && wasNeverBegun(plan) ? undefined : reason} />
      <TaskStageStep stage={stages.get('post_apply')} />
    </>
  )
}
