import { Lock } from 'lucide-react'
import { useMemo } from 'react'
import { ProjectLink, WorkspaceLink } from '../../components/links.tsx'
import { Tooltip } from '../../components/overlay-hosts.tsx'
import { PlanCounts } from '../../components/plan-counts.tsx'
import { Badge, TagBadge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { RunLink } from '../runs/run-navigation.tsx'
import { RunAuthorName } from '../runs/run-origin.tsx'
import { NoRun, RunBadges, RunStatus } from '../runs/run-status.tsx'
import { lockReason } from './lock-holder.ts'
import { tagLabel, tagText } from './tag-filter.ts'
import type { ListedWorkspace } from './workspaces.ts'

type Row = ListedWorkspace

type WorkspacesTableProps = {
  organization: string
  rows: readonly Row[]
  /** Whether all are in one project, which the page shows. */
  isOfProject?: boolean
  sort: string
  onSort?: (sort: string) => void
  /** Receives the clicked tag in the format of `tagText`. */
  onTag: (tag: string) => void
  selection?: { ids: ReadonlySet<string>; onChange: (ids: Set<string>) => void }
}

export function WorkspacesTable({ organization, onTag, isOfProject = false, ...props }: WorkspacesTableProps) {
  const columns = useMemo(
    () => columnsOf(onTag).filter(({ header }) => !isOfProject || header !== 'Project'),
    [onTag, isOfProject],
  )
  const label = `Workspaces of ${organization}`
  return <Table label={label} columns={columns} nameOf={({ attributes }) => attributes.name} {...props} />
}

function columnsOf(onTag: (tag: string) => void): readonly Column<Row>[] {
  return [
    { header: 'Status', className: 'w-px whitespace-nowrap', cell: (row) => <Status row={row} /> },
    { header: 'Name', sort: 'name', className: 'min-w-36', cell: (row) => <Name row={row} onTag={onTag} /> },
    {
      header: 'Project',
      className: 'hidden whitespace-nowrap lg:table-cell',
      cell: ({ project }) => project && <ProjectLink id={project.id} name={project.attributes.name} />,
    },
    {
      header: 'Tags',
      className: 'hidden lg:table-cell',
      cell: ({ tags }) => <TagButtons tags={tags} onTag={onTag} />,
    },
    {
      header: 'Last run',
      sort: 'current-run.created-at',
      className: 'hidden md:table-cell',
      cell: (row) => <LastRun row={row} />,
    },
    {
      header: 'Resources',
      className: 'hidden w-px text-right sm:table-cell',
      cell: ({ attributes }) => <span className="numeric">{attributes['resource-count'].toLocaleString('en')}</span>,
    },
    {
      header: 'Changed',
      sort: 'latest-change-at',
      className: 'hidden w-px whitespace-nowrap text-dim xl:table-cell',
      cell: ({ attributes }) => <RelativeTime at={attributes['latest-change-at']} />,
    },
    { header: 'Lock', isHeaderHidden: true, className: 'w-px max-sm:hidden', cell: (row) => <LockIcon row={row} /> },
  ]
}

function Status({ row: { attributes, currentRun, latestRun } }: { row: Row }) {
  return (
    <span className="flex items-start gap-x-2 gap-y-1 max-sm:flex-col">
      {currentRun ? (
        <RunStatus run={currentRun.attributes} />
      ) : (
        attributes.permissions['can-read-run'] && <NoRun hasPlans={latestRun !== undefined} />
      )}
      {currentRun && <RunBadges run={currentRun.attributes} />}
    </span>
  )
}

type TagButtonsProps = { tags: Row['tags']; onTag: (tag: string) => void }

function TagButtons({ tags, onTag }: TagButtonsProps) {
  return (
    <span className="flex flex-wrap gap-1">
      {tags.map((tag) => (
        <button
          key={tag.key}
          type="button"
          className="min-h-6 min-w-6 cursor-pointer"
          onClick={() => onTag(tagText(tag))}
        >
          <TagBadge text={tagLabel(tag)}>
            <span className="sr-only">Filter by tag </span>
          </TagBadge>
        </button>
      ))}
    </span>
  )
}

function Name({ row, onTag }: { row: Row; onTag: TagButtonsProps['onTag'] }) {
  const { name } = row.attributes
  return (
    <>
      <span className="flex flex-wrap items-center gap-x-2">
        <WorkspaceLink workspace={name} className="font-medium hover:underline" />
        {row.attributes['has-drift'] === true && <Badge tone="warn" text="drift" />}
        <span className="sm:hidden">
          <LockIcon row={row} />
        </span>
      </span>
      <span className="flex flex-wrap gap-x-2 text-dim md:hidden">
        {row.latestRun?.plan && <PlanCounts plan={row.latestRun.plan} />}
        {row.latestRun && <RelativeTime at={row.latestRun.run.attributes['created-at']} />}
      </span>
      {/* The column of tags is hidden on narrow screens. */}
      {row.tags.length > 0 && (
        <span className="mt-1.5 block lg:hidden">
          <TagButtons tags={row.tags} onTag={onTag} />
        </span>
      )}
    </>
  )
}

function LastRun({ row: { attributes, currentRun, latestRun } }: { row: Row }) {
  if (!latestRun) return attributes.permissions['can-read-run'] && <span className="text-dim">none</span>
  const { run, plan, author, commit, configuration } = latestRun
  return (
    <span className="flex flex-wrap items-center gap-x-2.5">
      <RunLink workspace={attributes.name} run={run} className="hover:underline">
        <span className="sr-only">Last run of {attributes.name}, </span>
        <RelativeTime at={run.attributes['created-at']} />
      </RunLink>
      <RunAuthorName run={run.attributes} {...{ author, commit, configuration }} />
      {plan && <PlanCounts plan={plan} />}
      {/* The badges of the current run are next to its status. */}
      {run.id !== currentRun?.id && <RunBadges run={run.attributes} />}
    </span>
  )
}

function LockIcon({ row: { attributes, holder } }: { row: Row }) {
  if (holder === undefined) return null
  const text = lockReason(holder, attributes)
  return (
    <Tooltip text={text}>
      <span
        role="img"
        aria-label={text}
        tabIndex={0}
        // The lock of a run is not remarkable: the status shows the run.
        className={`inline-flex rounded p-0.5 ${holder.kind === 'run' ? 'text-dim' : 'text-warn'}`}
      >
        <Lock size={15} />
      </span>
    </Tooltip>
  )
}
