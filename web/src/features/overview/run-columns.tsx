import { CircleX, Hand, Hourglass, type LucideIcon, Trash2 } from 'lucide-react'
import { type ReactNode, useId } from 'react'
import { failureOf } from '../../api/queries.ts'
import { buttonClass } from '../../components/button.tsx'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { ListLink } from '../../components/links.tsx'
import { capitalized } from '../../components/numbers.ts'
import { PlanCounts } from '../../components/plan-counts.tsx'
import { Badge, TONE_TEXT, type Tone } from '../../components/status.tsx'
import { Elapsed, RelativeTime, withLocalTimes } from '../../components/time.tsx'
import type { ListedRun } from '../runs/list/runs-query.ts'
import { RunLink } from '../runs/run-navigation.tsx'
import { RunAuthorName } from '../runs/run-origin.tsx'
import { RunBadges, RunStatus, runEndedAt, runState } from '../runs/run-status.tsx'
import { runTitle } from '../runs/run-text.ts'
import type { ActiveRun, ColumnRuns, FailedRun, Overview } from './overview.ts'
import { agentLoad, useActiveRuns, useFailedRuns, useFailureReason, useRunsToApprove } from './overview.ts'

export function RunColumns({ organization, overview }: { organization: string; overview: Overview }) {
  const toApprove = useRunsToApprove(organization)
  const failed = useFailedRuns(organization)
  const active = useActiveRuns(organization)
  const load = agentLoad(overview)
  return (
    <div className="grid items-start gap-4 lg:grid-cols-3">
      <RunColumn
        title="Needs approval"
        icon={Hand}
        tone="accent"
        status="needs_approval"
        query={toApprove}
        about={toApprove.data && toApprove.data.rows.length > 0 && 'Oldest first'}
        empty="Nothing needs your attention."
        renderRow={(run) => <RunToApprove run={run} />}
      />
      <RunColumn
        title="Failed (last 24 hours)"
        icon={CircleX}
        tone="bad"
        status="errored"
        query={failed}
        empty="No failed runs."
        renderRow={(run) => <Failed run={run} />}
      />
      <RunColumn
        title="Running and queued"
        icon={Hourglass}
        tone="busy"
        status="running,waiting"
        query={active}
        about={active.data && active.data.rows.length > 0 && load}
        empty="No running or queued runs."
        renderRow={(run) => <Active run={run} />}
      />
    </div>
  )
}

type RunColumnProps<Row extends ListedRun> = {
  title: string
  icon: LucideIcon
  tone: Tone
  /** The filter of the list that shows all of these runs. */
  status: string
  query: { data: ColumnRuns<Row> | undefined; error: Error | null; refetch: () => Promise<unknown> }
  about?: ReactNode
  empty: string
  renderRow: (row: Row) => ReactNode
}

function RunColumn<Row extends ListedRun>({ title, icon: Icon, tone, query, ...props }: RunColumnProps<Row>) {
  const id = useId()
  const failure = failureOf(query)
  const data = failure ? undefined : query.data
  const hasRows = data !== undefined && data.rows.length > 0
  return (
    <section aria-labelledby={id} className="flex min-w-0 flex-col rounded-lg border border-line bg-paper">
      <header className="px-4 pt-3 pb-2">
        <div className="flex items-center gap-2">
          <Icon size={16} className={`shrink-0 ${hasRows ? TONE_TEXT[tone] : 'text-dim'}`} />
          <h2 id={id} className="text-base font-semibold">
            {title}
          </h2>
          {hasRows && (
            <span className="numeric rounded-full bg-hover px-2 py-0.5 text-xs font-medium">{countText(data)}</span>
          )}
        </div>
        {props.about && <div className="mt-0.5 text-dim">{props.about}</div>}
      </header>
      {!data && (
        <div className="px-4 pb-4">
          {failure ? <ErrorNote {...failure} /> : <Skeleton rows={3} label={`Loading: ${title}`} />}
        </div>
      )}
      {data?.rows.length === 0 && <p className="px-4 pb-4 text-dim">{props.empty}</p>}
      {hasRows && (
        <ul aria-label={title} className="border-t border-line">
          {data.rows.map((row) => (
            <li key={row.id} className="relative border-b border-line last:border-0 hover:bg-hover">
              {props.renderRow(row)}
            </li>
          ))}
        </ul>
      )}
      {data?.hasMore === true && (
        <ListLink
          list="runs"
          search={{ status: props.status }}
          className="border-t border-line px-4 py-2 text-accent hover:underline"
        >
          {data.total === undefined ? 'All errored runs' : `All ${data.total.toLocaleString('en')}`}
        </ListLink>
      )}
    </section>
  )
}

function countText({ rows, total, hasMore }: ColumnRuns) {
  if (total !== undefined) return total.toLocaleString('en')
  return hasMore ? `${rows.length}+` : String(rows.length)
}

type RunRowProps = {
  run: ListedRun
  part?: 'log' | undefined
  tone?: 'bad' | undefined
  /** At the end of the first line. */
  badge?: ReactNode
  /** Before the other badges of the run. */
  marks?: ReactNode
  when: ReactNode
  children?: ReactNode
}

function RunRow({ run, part, tone, badge, marks, when, children }: RunRowProps) {
  const { id, attributes, author, commit, configuration, plan, workspace = '' } = run
  return (
    <div className={`space-y-0.5 px-4 py-2.5 ${tone === 'bad' ? 'border-l-2 border-bad pl-[calc(1rem-2px)]' : ''}`}>
      <div className="flex items-start gap-2">
        <RunLink
          workspace={workspace}
          run={run}
          search={part && { part }}
          className="min-w-0 flex-1 truncate font-medium after:absolute after:inset-0"
        >
          {workspace}
        </RunLink>
        {badge}
      </div>
      <p className="truncate text-dim" title={attributes.message}>
        {runTitle({ id, message: attributes.message })}
      </p>
      {children}
      <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1 text-dim">
        {marks}
        <RunBadges run={attributes} />
        {plan && <PlanCounts plan={plan} />}
        <RunAuthorName run={attributes} {...{ author, commit, configuration }} />
        {when}
      </div>
    </div>
  )
}

function RunToApprove({ run }: { run: ListedRun }) {
  const { attributes, plan, workspace = '' } = run
  const destroyed = plan?.attributes['resource-destructions'] ?? 0
  return (
    <RunRow
      run={run}
      tone={attributes['is-destroy'] || destroyed > 0 ? 'bad' : undefined}
      marks={
        destroyed > 0 &&
        !attributes['is-destroy'] && (
          <Badge tone="bad" icon={Trash2} text={`destroys ${destroyed.toLocaleString('en')}`} />
        )
      }
      when={<RelativeTime at={attributes['created-at']} />}
      badge={
        mayApprove(run) && (
          <RunLink
            workspace={workspace}
            run={run}
            aria-label={`Review the run of ${workspace}`}
            className={`relative z-10 ${buttonClass({ size: 'small' })}`}
          >
            Review
          </RunLink>
        )
      }
    >
      {attributes['waiting-reason'] !== null && (
        <p className="line-clamp-2 text-warn">{capitalized(attributes['waiting-reason'])}</p>
      )}
    </RunRow>
  )
}

function mayApprove({ attributes: { actions, permissions, status } }: ListedRun) {
  if (status === 'post_plan_awaiting_decision') return permissions['can-override-policy-check']
  return actions['is-confirmable'] && permissions['can-apply']
}

function Failed({ run }: { run: FailedRun }) {
  const reason = useFailureReason(run)
  const hasLog = run.logUrl !== undefined
  return (
    <RunRow
      run={run}
      part={hasLog ? 'log' : undefined}
      when={<RelativeTime at={runEndedAt(run.attributes) ?? run.attributes['created-at']} />}
    >
      {reason !== undefined && (
        <p className="line-clamp-2 text-bad">{reason ?? `See the ${hasLog ? 'log' : 'run'} for details.`}</p>
      )}
    </RunRow>
  )
}

function Active({ run }: { run: ActiveRun }) {
  const { attributes, position } = run
  const reason = attributes['waiting-reason']
  const isRunning = runState(attributes).group === 'running'
  return (
    <RunRow
      run={run}
      badge={<RunStatus run={attributes} />}
      when={isRunning ? <Elapsed from={attributes['created-at']} /> : <RelativeTime at={attributes['created-at']} />}
    >
      {(reason !== null || position !== undefined) && (
        <p className="text-dim">
          {position !== undefined && (
            <Badge tone="warn" text={position === 1 ? 'next in queue' : `#${position.toLocaleString('en')} in queue`} />
          )}{' '}
          {reason !== null && withLocalTimes(reason)}
        </p>
      )}
    </RunRow>
  )
}
