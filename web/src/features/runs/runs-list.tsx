import { Play, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Pager } from '../../components/pager.tsx'
import { NO_FILTER, RunsFilters } from './runs-filters.tsx'
import { type RunSearch, type RunsScope, useQueuePlaces, useRunsList } from './runs-list-query.ts'
import { RunsTable } from './runs-table.tsx'

/** The runs of an organization or of one workspace, searched and filtered by the address of the page. */
export function RunsList({ scope, workspace, search, onSearch, children }: RunsListProps) {
  const { organization } = scope
  const list = useRunsList(scope, search)
  const failure = failureOf(list)
  const rows = failure ? [] : (list.data?.rows ?? [])
  const places = useQueuePlaces(
    organization,
    rows.some(({ attributes }) => attributes['waiting-reason'] !== null),
  )
  const isFiltered = Object.keys(NO_FILTER).some((name) => search[name as keyof RunSearch] !== undefined)
  const isBeyond = rows.length === 0 && (search.page ?? 1) > 1
  const isEmpty = list.data !== undefined && !failure && rows.length === 0

  if (isEmpty && !isFiltered && !isBeyond)
    return (
      <EmptyState icon={Play} title="No runs yet">
        {children}
      </EmptyState>
    )
  return (
    <>
      <RunsFilters
        organization={organization}
        hasWorkspaces={workspace === undefined}
        search={search}
        onChange={(change, options) => onSearch({ ...change, page: undefined }, options)}
      />
      {list.isPending && <Skeleton rows={8} />}
      {failure && <ErrorNote {...failure} />}
      {isEmpty && (
        <EmptyState
          icon={SearchX}
          title={isBeyond ? 'There is no such page' : 'No run matches'}
          actions={
            <Button onClick={() => onSearch(isBeyond ? { page: undefined } : { ...NO_FILTER, page: undefined })}>
              {isBeyond ? 'To the first page' : 'Clear the filters'}
            </Button>
          }
        >
          {!isBeyond && <p>The search finds words of the message and the whole id of a run.</p>}
        </EmptyState>
      )}
      {rows.length > 0 && (
        <RunsTable organization={organization} workspace={workspace} rows={rows} places={places.data} />
      )}
      {list.data && rows.length > 0 && (
        <Pager pagination={list.data.pagination} onPage={(page) => onSearch({ page: page === 1 ? undefined : page })} />
      )}
    </>
  )
}

type RunsListProps = {
  scope: RunsScope
  /** The name of the workspace whose runs these are; none for all of the organization. */
  workspace?: string
  search: RunSearch
  onSearch: (change: Partial<RunSearch>, options?: { isTyping?: boolean }) => void
  /** What stands there before the first run: how one comes. */
  children: ReactNode
}
