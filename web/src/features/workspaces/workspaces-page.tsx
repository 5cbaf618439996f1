import { getRouteApi } from '@tanstack/react-router'
import { Boxes, Plus, SearchX } from 'lucide-react'
import { Suspense, lazy, useCallback, useState } from 'react'
import { failureOf } from '../../api/queries.ts'
import { Button } from '../../components/button.tsx'
import { EmptyState, ErrorNote, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { BulkBar } from './bulk-bar.tsx'
import { ConnectCli } from './connect-cli.tsx'
import { useCreatableProjects } from './new-workspace.ts'
import { readTags, tagText } from './tag-filter.ts'
import { type ChangeSearch, NO_FILTER, WorkspacesFilters } from './workspaces-filters.tsx'
import { WorkspacesTable } from './workspaces-table.tsx'
import { type WorkspaceSearch, useWorkspaces } from './workspaces.ts'

const NewWorkspaceDialog = lazy(async () => import('./new-workspace-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/workspaces')

/** The workspaces of an organization: searched, filtered and sorted by the server, as the address says. */
export function WorkspacesPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const mayCreate = (useCreatableProjects(organization).data?.length ?? 0) > 0
  const change = useCallback<ChangeSearch>(
    (changes, { isTyping = false } = {}) =>
      void navigate({ search: (before) => ({ ...before, page: undefined, ...changes }), replace: isTyping }),
    [navigate],
  )
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open ? true : undefined }), replace: true })
  const create = mayCreate && (
    <Button kind="primary" icon={Plus} onClick={() => setNew(true)}>
      New workspace
    </Button>
  )
  return (
    <Page title="Workspaces" documentTitle={`Workspaces · ${organization}`} actions={create}>
      <WorkspaceList organization={organization} search={search} onChange={change} create={create} />
      {isNew && mayCreate && (
        <Suspense>
          <NewWorkspaceDialog organization={organization} projectId={search.project} onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

function WorkspaceList({
  organization,
  search,
  onChange,
  create,
}: {
  organization: string
  search: WorkspaceSearch
  onChange: ChangeSearch
  create: React.ReactNode
}) {
  const list = useWorkspaces(organization, search)
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const failure = failureOf(list)
  const rows = failure ? [] : (list.data?.rows ?? [])
  // What has left the page is not acted on by something that no one sees.
  const selected = rows.filter(({ id }) => ids.has(id))
  const isFiltered = Object.keys(NO_FILTER).some((name) => search[name as keyof WorkspaceSearch] !== undefined)
  const isBeyond = rows.length === 0 && (search.page ?? 1) > 1
  const isEmpty = list.data !== undefined && !failure && rows.length === 0
  const addTag = useCallback(
    (tag: string) => onChange({ tag: [...new Set([...readTags(search.tag).map(tagText), tag])].join(',') }),
    [onChange, search.tag],
  )

  if (isEmpty && !isFiltered && !isBeyond) return <NoWorkspaces organization={organization} create={create} />
  return (
    <>
      <WorkspacesFilters organization={organization} search={search} rows={rows} onChange={onChange} />
      {list.isPending && <Skeleton rows={12} />}
      {failure && <ErrorNote {...failure} />}
      {isEmpty && <NoMatch isBeyond={isBeyond} onChange={onChange} />}
      <BulkBar organization={organization} workspaces={selected} onClear={() => setIds(new Set())} />
      {list.data && rows.length > 0 && (
        <>
          <WorkspacesTable
            organization={organization}
            rows={rows}
            sort={search.sort ?? 'name'}
            onSort={(sort) => onChange({ sort: sort === 'name' ? undefined : sort })}
            onTag={addTag}
            selection={{ ids, onChange: setIds }}
          />
          <Pager
            pagination={list.data.pagination}
            onPage={(page) => onChange({ page: page === 1 ? undefined : page })}
          />
        </>
      )}
    </>
  )
}

function NoMatch({ isBeyond, onChange }: { isBeyond: boolean; onChange: ChangeSearch }) {
  return (
    <EmptyState
      icon={SearchX}
      title={isBeyond ? 'There is no such page' : 'No workspace matches'}
      actions={
        <Button onClick={() => onChange(isBeyond ? { page: undefined } : NO_FILTER)}>
          {isBeyond ? 'To the first page' : 'Clear the filters'}
        </Button>
      }
    >
      {!isBeyond && <p>A search finds any part of a name. Filters narrow it further: all of them must match.</p>}
    </EmptyState>
  )
}

function NoWorkspaces({ organization, create }: { organization: string; create: React.ReactNode }) {
  return (
    <EmptyState icon={Boxes} title="No workspaces yet" actions={create}>
      <p>
        A workspace holds one configuration with its variables, state and runs. The CLI creates one automatically when
        the configuration names it:
      </p>
      <ConnectCli organization={organization} workspace="my-first-workspace" />
    </EmptyState>
  )
}
