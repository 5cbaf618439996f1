import { Link } from '@tanstack/react-router'
import { useMemo } from 'react'
import { PlanCounts } from '../../components/plan-counts.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime, Elapsed } from '../../components/time.tsx'
import { runEnd } from './run-end.ts'
import { RunMarks } from './run-marks.tsx'
import { originText, RunAuthorName } from './run-origin.tsx'
import { RunStatus, runState } from './run-status.tsx'
import { runTitle } from './run-title.ts'
import type { ListedRun } from './runs-list-query.ts'
import { waitingReason } from './waiting-reason.ts'

/** Runs with what one has to know of each: its state, who it is from, what it changes, how long it took. */
export function RunsTable({ organization, workspace, rows, places }: RunsTableProps) {
  const columns = useMemo(() => columnsOf({ organization, workspace, places }), [organization, workspace, places])
  return (
    <Table
      label={workspace === undefined ? `Runs of ${organization}` : `Runs of ${workspace}`}
      rows={rows}
      columns={columns}
    />
  )
}

type RunsTableProps = {
  organization: string
  /** The workspace that all runs are of; by default each row names its own. */
  workspace: string | undefined
  rows: readonly ListedRun[]
  /** The places in line of those that wait. */
  places: ReadonlyMap<string, number | undefined> | undefined
}

function columnsOf({ organization, workspace, places }: Omit<RunsTableProps, 'rows'>): readonly Column<ListedRun>[] {
  return [
    {
      id: 'status',
      header: 'Status',
      className: 'w-px whitespace-nowrap',
      cell: ({ attributes }) => (
        <span className="flex">
          <RunStatus run={attributes} />
        </span>
      ),
    },
    {
      id: 'run',
      header: 'Run',
      className: 'min-w-44',
      cell: (run) => (
        <RunCell organization={organization} workspace={workspace} run={run} place={places?.get(run.id)} />
      ),
    },
    ...(workspace === undefined
      ? [
          {
            id: 'workspace',
            header: 'Workspace',
            className: 'w-px whitespace-nowrap max-sm:hidden',
            cell: ({ workspace: name }: ListedRun) =>
              name === undefined ? null : (
                <Link
                  to="/app/$organization/workspaces/$workspace"
                  params={{ organization, workspace: name }}
                  className="hover:underline"
                >
                  {name}
                </Link>
              ),
          },
        ]
      : []),
    {
      id: 'author',
      header: 'Started by',
      className: 'hidden w-px whitespace-nowrap md:table-cell',
      cell: ({ attributes, author }) => (
        <span className="flex items-center gap-x-2 max-xl:flex-col max-xl:items-start">
          <RunAuthorName run={attributes} author={author} />
          <span className="text-dim">{originText(attributes)}</span>
        </span>
      ),
    },
    {
      id: 'changes',
      header: 'Changes',
      className: 'hidden w-px whitespace-nowrap sm:table-cell',
      cell: ({ plan }) => plan && <PlanCounts counts={countsOf(plan)} />,
    },
    {
      id: 'duration',
      header: 'Took',
      className: 'hidden w-px whitespace-nowrap lg:table-cell',
      cell: ({ attributes }) => <Duration run={attributes} />,
    },
    {
      id: 'created',
      header: 'Started',
      className: 'w-px text-dim whitespace-nowrap max-sm:hidden',
      cell: ({ attributes }) => <RelativeTime at={attributes['created-at']} />,
    },
  ]
}

/** Nothing while the run waits: that is not what it takes. */
function Duration({ run }: { run: ListedRun['attributes'] }) {
  const end = runEnd(run)
  if (end === null && runState(run).group !== 'running') return null
  return <Elapsed from={run['created-at']} to={end} />
}

function RunCell({
  organization,
  workspace = '',
  run,
  place,
}: {
  organization: string
  workspace: string | undefined
  run: ListedRun
  place: number | undefined
}) {
  const { attributes, workspace: own = workspace } = run
  const reason = attributes['waiting-reason']
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
        <Link
          to="/app/$organization/workspaces/$workspace/runs/$run"
          params={{ organization, workspace: own, run: run.id }}
          className="line-clamp-2 font-medium hover:underline"
        >
          {runTitle({ id: run.id, message: attributes.message })}
        </Link>
        <RunMarks run={attributes} />
        {place !== undefined && <Badge tone="warn">{place === 1 ? 'next in line' : `place ${place} in line`}</Badge>}
      </span>
      {reason !== null && <span className="block text-dim">{waitingReason(reason)}</span>}
      <span className="flex flex-wrap gap-x-2 text-dim sm:hidden">
        {workspace === '' && <span>{own}</span>}
        {run.plan && <PlanCounts counts={countsOf(run.plan)} />}
        <RelativeTime at={attributes['created-at']} />
      </span>
    </>
  )
}

/** The counts of a plan, for `PlanCounts`. */
export function countsOf({ attributes }: NonNullable<ListedRun['plan']>) {
  return {
    additions: attributes['resource-additions'],
    changes: attributes['resource-changes'],
    destructions: attributes['resource-destructions'],
    imports: attributes['resource-imports'],
  }
}
