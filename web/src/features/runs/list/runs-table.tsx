import { useMemo } from 'react'
import { WorkspaceLink } from '../../../components/links.tsx'
import { PlanCounts } from '../../../components/plan-counts.tsx'
import { Badge } from '../../../components/status.tsx'
import { type Column, Table } from '../../../components/table.tsx'
import { RelativeTime, Elapsed, withLocalTimes } from '../../../components/time.tsx'
import { CommitCode } from '../run-commit.tsx'
import { RunLink } from '../run-navigation.tsx'
import { originText, RunAuthorName } from '../run-origin.tsx'
import { RunBadges, runEndedAt, RunStatus, runState } from '../run-status.tsx'
import type { ListedRun } from './runs-query.ts'

type Positions = ReadonlyMap<string, number | undefined>
/** Without `workspace`, a column has the workspace of each run. */
type ColumnOptions = { workspace: string | undefined; positions: Positions | undefined }

type RunsTableProps = ColumnOptions & {
  organization: string
  rows: readonly ListedRun[]
  selection: { ids: ReadonlySet<string>; onChange: (ids: Set<string>) => void } | undefined
}

export function RunsTable({ organization, workspace, rows, positions, selection }: RunsTableProps) {
  const columns = useMemo(() => columnsOf({ workspace, positions }), [workspace, positions])
  const label = `Runs of ${workspace ?? organization}`
  return <Table {...{ label, rows, columns, selection }} nameOf={({ name }) => name} />
}

function columnsOf({ workspace, positions }: ColumnOptions): readonly Column<ListedRun>[] {
  const workspaceColumn: Column<ListedRun> = {
    header: 'Workspace',
    className: 'w-px whitespace-nowrap max-sm:hidden',
    cell: ({ workspace: name }) => name !== undefined && <WorkspaceLink workspace={name} className="hover:underline" />,
  }
  return [
    {
      header: 'Status',
      className: 'w-px whitespace-nowrap',
      cell: ({ attributes }) => <RunStatus run={attributes} />,
    },
    {
      header: 'Run',
      className: 'min-w-44',
      cell: (run) => (
        <RunCell
          workspace={run.workspace ?? workspace ?? ''}
          hasWorkspace={workspace === undefined}
          run={run}
          position={positions?.get(run.id)}
        />
      ),
    },
    ...(workspace === undefined ? [workspaceColumn] : []),
    {
      header: 'Created by',
      className: 'hidden w-px whitespace-nowrap md:table-cell',
      cell: ({ attributes, author, commit, configuration }) => (
        <span className="flex items-center gap-x-2 max-xl:flex-col max-xl:items-start">
          <RunAuthorName run={attributes} {...{ author, commit, configuration }} />
          <span className="text-dim">
            {originText(attributes, { commit, configuration })}
            {commit && <CommitCode commit={commit} />}
          </span>
        </span>
      ),
    },
    {
      header: 'Changes',
      className: 'hidden w-px whitespace-nowrap sm:table-cell',
      cell: ({ plan }) => plan && <PlanCounts plan={plan} />,
    },
    {
      header: 'Duration',
      className: 'hidden w-px whitespace-nowrap lg:table-cell',
      cell: ({ attributes }) => <Duration run={attributes} />,
    },
    {
      header: 'Created',
      className: 'w-px text-dim whitespace-nowrap max-sm:hidden',
      cell: ({ attributes }) => <RelativeTime at={attributes['created-at']} />,
    },
  ]
}

/** Empty while the run is waiting. */
function Duration({ run }: { run: ListedRun['attributes'] }) {
  const endedAt = runEndedAt(run)
  if (endedAt === null && runState(run).group !== 'running') return null
  return <Elapsed from={run['created-at']} to={endedAt} />
}

/** `hasWorkspace` shows the workspace on narrow screens, which hide its column. */
type RunCellProps = { workspace: string; hasWorkspace: boolean; run: ListedRun; position: number | undefined }

function RunCell({ workspace, hasWorkspace, run, position }: RunCellProps) {
  const { attributes, plan } = run
  const reason = attributes['waiting-reason']
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
        <RunLink workspace={workspace} run={run} className="line-clamp-2 font-medium hover:underline" />
        <RunBadges run={attributes} />
        {position !== undefined && <Badge tone="warn" text={`#${position} in queue`} />}
      </span>
      {reason !== null && <span className="block text-dim">{withLocalTimes(reason)}</span>}
      <span className="flex flex-wrap gap-x-2 text-dim sm:hidden">
        {hasWorkspace && <span>{workspace}</span>}
        {plan && <PlanCounts plan={plan} />}
        <RelativeTime at={attributes['created-at']} />
      </span>
    </>
  )
}
