import { Link } from '@tanstack/react-router'
import { CircleX, Hand, Hourglass, Trash2 } from 'lucide-react'
import { buttonClass } from '../../components/button.tsx'
import { Badge } from '../../components/status.tsx'
import { RelativeTime, Elapsed } from '../../components/time.tsx'
import type { ListedRun } from '../runs/list/runs-query.ts'
import { RunStatus, runEndedAt, runState } from '../runs/run-status.tsx'
import { waitingReason } from '../runs/run-text.ts'
import { useFailureReason } from './failure-reason.ts'
import {
  type FailedRun,
  type LinedRun,
  type Overview,
  agentLoad,
  useFailedRuns,
  useRunsInLine,
  useRunsToDecide,
} from './overview.ts'
import { RunColumn, RunRow } from './run-column.tsx'

/** Runs that need attention, failed runs and active runs. */
export function RunColumns({ organization, overview }: { organization: string; overview: Overview }) {
  return (
    <div className="grid items-start gap-4 lg:grid-cols-3">
      <ToDecide organization={organization} />
      <Failed organization={organization} />
      <InLine organization={organization} overview={overview} />
    </div>
  )
}

function ToDecide({ organization }: { organization: string }) {
  const query = useRunsToDecide(organization)
  return (
    <RunColumn
      organization={organization}
      title="Needs approval"
      icon={Hand}
      tone="accent"
      status="needs_approval"
      query={query}
      about={query.data && query.data.rows.length > 0 ? 'The oldest first.' : undefined}
      empty="Nothing needs your attention."
      renderRow={(run) => <RunToDecide organization={organization} run={run} />}
    />
  )
}

function RunToDecide({ organization, run }: { organization: string; run: ListedRun }) {
  const { attributes, plan, workspace = '' } = run
  const destroyed = plan?.attributes['resource-destructions'] ?? 0
  return (
    <RunRow
      organization={organization}
      run={run}
      tone={attributes['is-destroy'] || destroyed > 0 ? 'bad' : undefined}
      marks={
        destroyed > 0 &&
        !attributes['is-destroy'] && (
          <Badge tone="bad" icon={Trash2}>
            destroys {destroyed.toLocaleString('en')}
          </Badge>
        )
      }
      when={<RelativeTime at={attributes['created-at']} />}
      badge={
        mayDecide(run) && (
          <Link
            to="/app/$organization/workspaces/$workspace/runs/$run"
            params={{ organization, workspace, run: run.id }}
            aria-label={`Review the run of ${workspace}`}
            className={`relative z-10 ${buttonClass({ size: 'small' })}`}
          >
            Review
          </Link>
        )
      }
    >
      {attributes.status === 'post_plan_awaiting_decision' && (
        <p className="text-warn">A mandatory task failed: it may be overridden.</p>
      )}
    </RunRow>
  )
}

/** Whether the user may approve the run now. */
function mayDecide({ attributes: { actions, permissions, status } }: ListedRun) {
  if (status === 'post_plan_awaiting_decision') return permissions['can-override-policy-check']
  return actions['is-confirmable'] && permissions['can-apply']
}

function Failed({ organization }: { organization: string }) {
  const query = useFailedRuns(organization)
  return (
    <RunColumn
      organization={organization}
      title="Failed (last 24 hours)"
      icon={CircleX}
      tone="bad"
      status="errored"
      query={query}
      empty="Nothing has failed."
      renderRow={(run) => <Failure organization={organization} run={run} />}
    />
  )
}

function Failure({ organization, run }: { organization: string; run: FailedRun }) {
  const reason = useFailureReason(run)
  // Where no phase has failed there is no log: the page of the run says what did.
  const hasLog = run.logUrl !== undefined
  return (
    <RunRow
      organization={organization}
      run={run}
      {...(hasLog && { part: 'log' as const })}
      when={<RelativeTime at={runEndedAt(run.attributes) ?? run.attributes['created-at']} />}
    >
      {reason !== undefined && (
        <p className="line-clamp-2 text-bad">{reason ?? (hasLog ? 'Its log says why.' : 'The run says why.')}</p>
      )}
    </RunRow>
  )
}

function InLine({ organization, overview }: { organization: string; overview: Overview }) {
  const query = useRunsInLine(organization)
  const load = agentLoad(overview)
  return (
    <RunColumn
      organization={organization}
      title="Running and waiting"
      icon={Hourglass}
      tone="busy"
      status="running,waiting"
      query={query}
      about={<span className={load.isLacking ? 'text-warn' : ''}>{load.text}</span>}
      empty="Nothing runs, and nothing waits."
      renderRow={(run) => <RunInLine organization={organization} run={run} />}
    />
  )
}

function RunInLine({ organization, run }: { organization: string; run: LinedRun }) {
  const { attributes, place } = run
  const reason = attributes['waiting-reason']
  const isRunning = runState(attributes).group === 'running'
  return (
    <RunRow
      organization={organization}
      run={run}
      badge={<RunStatus run={attributes} />}
      when={isRunning ? <Elapsed from={attributes['created-at']} /> : <RelativeTime at={attributes['created-at']} />}
    >
      {(reason !== null || place !== undefined) && (
        <p className="text-dim">
          {place !== undefined && (
            <Badge tone="warn">{place === 1 ? 'next in queue' : `#${place.toLocaleString('en')} in queue`}</Badge>
          )}{' '}
          {reason !== null && waitingReason(reason)}
        </p>
      )}
    </RunRow>
  )
}
