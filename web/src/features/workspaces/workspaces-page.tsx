import { getRouteApi } from '@tanstack/react-router'
import { Boxes, Plus, SearchX } from 'lucide-react'
import { Suspense, lazy, useCallback, useState } from 'react'
import { Button } from '../../components/button.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { counted } from '../../components/numbers.ts'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { BULK_ACTIONS, type BulkActionName } from './bulk-actions.ts'
import { ConnectCli } from './connect-cli.tsx'
import { useCreatableProjects } from './new-workspace.ts'
import { type ChangeSearch, NO_FILTER, WorkspacesFilters, withTag } from './workspaces-filters.tsx'
import { WorkspacesTable } from './workspaces-table.tsx'
import { type ListedWorkspace, type WorkspaceSearch, useWorkspaces } from './workspaces.ts'

const BulkDialog = lazy(async () => import('./bulk-dialog.tsx'))
const NewWorkspaceDialog = lazy(async () => import('./new-workspace-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/workspaces')

/** The workspaces of an organization: searched, filtered and sorted by the server, as the URL specifies. */
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
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  const create = mayCreate && <Button label="New workspace" kind="primary" icon={Plus} onClick={() => setNew(true)} />
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

type WorkspaceListProps = {
  organization: string
  search: WorkspaceSearch
  onChange: ChangeSearch
  create: React.ReactNode
}

function WorkspaceList({ organization, search, onChange, create }: WorkspaceListProps) {
  const { data, fallback } = loaded(useWorkspaces(organization, search), { rows: 12 })
  const [ids, setIds] = useState<ReadonlySet<string>>(new Set())
  const rows = data?.rows ?? []
  // Bulk actions must not affect workspaces that are no longer visible.
  const selected = rows.filter(({ id }) => ids.has(id))
  const isFiltered = Object.keys(NO_FILTER).some((name) => search[name as keyof WorkspaceSearch] !== undefined)
  const isBeyond = rows.length === 0 && (search.page ?? 1) > 1
  const isEmpty = data?.rows.length === 0
  const addTag = useCallback((tag: string) => onChange({ tag: withTag(search.tag, tag) }), [onChange, search.tag])

  if (isEmpty && !isFiltered && !isBeyond) return <NoWorkspaces organization={organization} create={create} />
  return (
    <>
      <WorkspacesFilters organization={organization} search={search} rows={rows} onChange={onChange} />
      {!data && fallback}
      {isEmpty && <NoMatch isBeyond={isBeyond} onChange={onChange} />}
      <BulkBar organization={organization} workspaces={selected} onClear={() => setIds(new Set())} />
      {data && rows.length > 0 && (
        <>
          <WorkspacesTable
            organization={organization}
            rows={rows}
            sort={search.sort ?? 'name'}
            onSort={(sort) => onChange({ sort: sort === 'name' ? undefined : sort })}
            onTag={addTag}
            selection={{ ids, onChange: setIds }}
          />
          <Pager pagination={data.pagination} onPage={(page) => onChange({ page: page === 1 ? undefined : page })} />
        </>
      )}
    </>
  )
}

function NoMatch({ isBeyond, onChange }: { isBeyond: boolean; onChange: ChangeSearch }) {
  return (
    <EmptyState
      icon={SearchX}
      title={isBeyond ? 'Page not found' : 'No workspaces match'}
      actions={
        <Button
          label={isBeyond ? 'Go to first page' : 'Clear filters'}
          onClick={() => onChange(isBeyond ? { page: undefined } : NO_FILTER)}
        />
      }
    >
      {!isBeyond && <p>The search matches any part of a name. Workspaces must match all filters.</p>}
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

const NAMES = Object.keys(BULK_ACTIONS) as BulkActionName[]

type BulkBarProps = { organization: string; workspaces: readonly ListedWorkspace[]; onClear: () => void }

function BulkBar({ organization, workspaces, onClear }: BulkBarProps) {
  const [open, setOpen] = useState<{ action: BulkActionName; workspaces: readonly ListedWorkspace[] }>()
  return (
    <>
      {workspaces.length > 0 && (
        <div
          role="region"
          aria-label="Selected workspaces"
          className="sticky top-12 z-10 mb-3 flex flex-wrap items-center gap-2 rounded-lg border border-accent bg-accent-soft px-3 py-2"
        >
          <span role="status" className="mr-2 font-medium">
            {counted(workspaces.length, 'workspace')} selected
          </span>
          {NAMES.map((action) => (
            <Button
              label={BULK_ACTIONS[action].label}
              key={action}
              size="small"
              icon={BULK_ACTIONS[action].icon}
              reason={reasonOf(action, workspaces)}
              onClick={() => setOpen({ action, workspaces })}
            />
          ))}
          <Button label="Clear selection" size="small" kind="quiet" onClick={onClear} />
        </div>
      )}
      {open && (
        <Suspense>
          <BulkDialog
            organization={organization}
            action={BULK_ACTIONS[open.action]}
            workspaces={open.workspaces}
            onClose={() => setOpen(undefined)}
          />
        </Suspense>
      )}
    </>
  )
}

/** Why the action applies to none of the workspaces. If it applies to some, the dialog lists the obstacles. */
function reasonOf(action: BulkActionName, workspaces: readonly ListedWorkspace[]) {
  const obstacles = workspaces.map((workspace) => BULK_ACTIONS[action].obstacle(workspace))
  if (obstacles.includes(undefined)) return undefined
  return workspaces.length === 1 ? obstacles[0] : `not possible for any: ${[...new Set(obstacles)].join('; ')}`
}
