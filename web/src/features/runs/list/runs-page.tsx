import { Link, getRouteApi } from '@tanstack/react-router'
import { Play, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { failureOf } from '../../../api/queries.ts'
import { Button } from '../../../components/button.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../../components/feedback.tsx'
import { Page } from '../../../components/page.tsx'
import { Pager } from '../../../components/pager.tsx'
import { ConnectCli } from '../../workspaces/connect-cli.tsx'
import { useOpenWorkspace } from '../../workspaces/workspace.ts'
import { type ChangeSearch, NO_FILTER, RunFilters, isFiltered } from './run-filters.tsx'
import { type RunSearch, type RunsScope, useQueuePositions, useRuns } from './runs-query.ts'
import { RunsTable } from './runs-table.tsx'

const organizationRoute = getRouteApi('/frame/app/$organization/runs')
const workspaceRoute = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs')

/** All runs of an organization. */
export function RunsPage() {
  const { organization } = organizationRoute.useParams()
  const navigate = organizationRoute.useNavigate()
  return (
    <Page title="Runs" documentTitle={`Runs · ${organization}`}>
      <RunsList
        scope={{ organization }}
        search={organizationRoute.useSearch()}
        onSearch={(change, { isTyping = false } = {}) =>
          void navigate({ search: (before) => ({ ...before, ...change }), replace: isTyping })
        }
      >
        <p>
          A run plans a configuration, and usually applies the plan. Runs are created via CLI, UI, API, or by run
          triggers.
        </p>
        <p>
          <Link
            to="/app/$organization/workspaces"
            params={{ organization }}
            className="font-medium text-accent underline"
          >
            Open a workspace
          </Link>{' '}
          to create a run.
        </p>
      </RunsList>
    </Page>
  )
}

/** The runs of a workspace. */
export function RunsTab() {
  const { organization, workspace } = useOpenWorkspace()
  const navigate = workspaceRoute.useNavigate()
  const { name, 'execution-mode': mode } = workspace.attributes
  return (
    <RunsList
      scope={{ organization, workspaceId: workspace.id }}
      workspace={name}
      search={workspaceRoute.useSearch()}
      onSearch={(change, { isTyping = false } = {}) =>
        void navigate({ search: (before) => ({ ...before, ...change }), replace: isTyping })
      }
    >
      {mode === 'local' ? (
        <p>
          The execution mode of this workspace is local: the CLI plans and applies on your machine, and the server
          stores the state and the lock.
        </p>
      ) : (
        <>
          <p>A run needs a configuration. The CLI uploads one with its first plan:</p>
          <ConnectCli organization={organization} workspace={name} />
        </>
      )}
    </RunsList>
  )
}

type RunsListProps = {
  scope: RunsScope
  /** The workspace name; undefined for all runs of the organization. */
  workspace?: string
  search: RunSearch
  onSearch: ChangeSearch
  /** Shown while there are no runs: how to create one. */
  children: ReactNode
}

function RunsList({ scope, workspace, search, onSearch, children }: RunsListProps) {
  const { organization } = scope
  const runs = useRuns(scope, search)
  const failure = failureOf(runs)
  const rows = failure ? [] : (runs.data?.rows ?? [])
  const positions = useQueuePositions(
    organization,
    rows.some(({ attributes }) => attributes['waiting-reason'] !== null),
  )
  const isPastEnd = rows.length === 0 && (search.page ?? 1) > 1
  const isEmpty = runs.data !== undefined && !failure && rows.length === 0
  const reset = () => onSearch(isPastEnd ? { page: undefined } : { ...NO_FILTER, page: undefined })

  if (isEmpty && !isFiltered(search) && !isPastEnd)
    return (
      <EmptyState icon={Play} title="No runs yet">
        {children}
      </EmptyState>
    )
  return (
    <>
      <RunFilters
        organization={organization}
        hasWorkspaces={workspace === undefined}
        search={search}
        onChange={(change, options) => onSearch({ ...change, page: undefined }, options)}
      />
      {runs.isPending && <Skeleton rows={8} />}
      {failure && <ErrorNote {...failure} />}
      {isEmpty && (
        <EmptyState
          icon={SearchX}
          title={isPastEnd ? 'No such page' : 'No matching runs'}
          actions={<Button label={isPastEnd ? 'First page' : 'Clear filters'} onClick={reset} />}
        >
          {!isPastEnd && <p>The search matches words of the message, or the full run ID.</p>}
        </EmptyState>
      )}
      {runs.data && rows.length > 0 && (
        <>
          <RunsTable organization={organization} workspace={workspace} rows={rows} positions={positions.data} />
          <Pager
            pagination={runs.data.pagination}
            onPage={(page) => onSearch({ page: page === 1 ? undefined : page })}
          />
        </>
      )}
    </>
  )
}
