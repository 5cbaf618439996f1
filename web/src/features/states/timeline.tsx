import { getRouteApi } from '@tanstack/react-router'
import { failureOf } from '../../api/queries.ts'
import { ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Pager } from '../../components/pager.tsx'
import { useOpenWorkspace } from '../workspaces/workspace.ts'
import { NoStates } from './no-states.tsx'
import { useStateVersions } from './states.ts'
import { TimelineRow } from './timeline-row.tsx'
import { resourceCount } from './version-words.ts'

const route = getRouteApi('/frame/app/$organization/workspaces/$workspace/states')

/** The versions of the workspace, the newest first. Beside an open one it is narrow, and scrolls by itself. */
export function Timeline({ isBeside }: { isBeside: boolean }) {
  const { organization, workspace } = useOpenWorkspace()
  const { page = 1, from, to } = route.useSearch()
  const navigate = route.useNavigate()
  const versions = useStateVersions({ id: workspace.id, organization, name: workspace.attributes.name }, page)
  const failure = failureOf(versions)
  if (failure) return <ErrorNote {...failure} />
  if (!versions.data) return <Skeleton rows={8} label="Loading the states" />
  const { rows, pagination } = versions.data
  if (rows.length === 0 && page === 1) return <NoStates />
  const counts = rows.map(({ version }) => resourceCount(version))
  const most = Math.max(0, ...counts.map((count) => count ?? 0))
  return (
    <div {...(isBeside ? PANE : { className: 'space-y-3' })}>
      {!isBeside && rows.length > 1 && <PinHint isPinned={(from ?? to) !== undefined} />}
      <ol
        aria-label="States, the newest first"
        className="divide-y divide-line overflow-hidden rounded-lg border border-line bg-paper"
      >
        {rows.map((row, at) => (
          <TimelineRow
            key={row.id}
            row={row}
            rows={rows}
            counts={{ newer: counts[at - 1], own: counts[at], older: counts[at + 1] }}
            most={most}
            isBeside={isBeside}
          />
        ))}
      </ol>
      <Pager
        pagination={pagination}
        onPage={(next) => void navigate({ search: (before) => ({ ...before, page: next === 1 ? undefined : next }) })}
      />
    </div>
  )
}

/** Beside what is open it scrolls by itself, also by key. */
const PANE = {
  role: 'region',
  'aria-label': 'Timeline of states',
  tabIndex: 0,
  className: 'sticky top-16 max-h-[calc(100vh-5rem)] overflow-auto p-0.5',
}

function PinHint({ isPinned }: { isPinned: boolean }) {
  return (
    <p role="status" className={isPinned ? 'font-medium text-accent' : 'text-dim'}>
      {isPinned
        ? 'One state is pinned. Pin another one to see what changed between them.'
        : 'Pin two states, A and B, to see what changed between them.'}
    </p>
  )
}
