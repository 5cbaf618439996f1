import { getRouteApi } from '@tanstack/react-router'
import { Boxes, FileInput, Plus, SearchX, Upload } from 'lucide-react'
import { type ReactNode, Suspense, lazy, useCallback, useMemo } from 'react'
import { BulkBar, useSelection } from '../../components/bulk-bar.tsx'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { RowMenu } from '../../components/row-menu.tsx'
import { workspaceActions } from './bulk-actions.ts'
import { ConnectCli } from './connect-cli.tsx'
import { useCreatableProjects, useTargetReason } from './new-workspace.ts'
import { type ChangeSearch, NO_FILTER, WorkspacesFilters, withTag } from './workspaces-filters.tsx'
import type { WorkspaceSearch } from './workspaces-search.ts'
import { WorkspacesTable } from './workspaces-table.tsx'
import { readWorkspaces, useWorkspaces } from './workspaces.ts'

const NewWorkspaceDialog = lazy(async () => import('./new-workspace-dialog.tsx'))
const UploadDialog = lazy(async () => import('../configurations/upload-dialog.tsx'))
const ImportDialog = lazy(async () => import('../state-import/import-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/workspaces')

/** The workspaces of an organization: searched, filtered and sorted by the server, as the URL specifies. */
export function WorkspacesPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, upload: isUpload = false, import: isImport = false, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const projects = useCreatableProjects(organization).data
  const mayCreate = (projects?.length ?? 0) > 0
  const change = useCallback<ChangeSearch>(
    (changes, { isTyping = false } = {}) =>
      void navigate({ search: (before) => ({ ...before, page: undefined, ...changes }), replace: isTyping }),
    [navigate],
  )
  const open = (dialog: 'new' | 'upload' | 'import') =>
    void navigate({ search: (before) => ({ ...before, [dialog]: true }), replace: true })
  const close = () =>
    void navigate({
      search: (before) => ({ ...before, new: undefined, upload: undefined, import: undefined }),
      replace: true,
    })
  const uploadReason = useTargetReason(organization, 'can-queue-run')
  const importReason = useTargetReason(organization, 'can-create-state-versions')
  const upload = (
    <Button label="Upload configuration" icon={Upload} reason={uploadReason} onClick={() => open('upload')} />
  )
  const create = (
    <Button
      label="New workspace"
      kind="primary"
      icon={Plus}
      reason={projects && !mayCreate ? NOT_ALLOWED : undefined}
      onClick={() => open('new')}
    />
  )
  const more = { text: 'Import state', icon: FileInput, reason: importReason, onSelect: () => open('import') }
  return (
    <Page
      title="Workspaces"
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/workspaces`} />
          <RowMenu label="More actions" actions={[more]} />
          {upload}
          {create}
        </>
      }
    >
      <WorkspaceList organization={organization} search={search} mayCreate={!projects || mayCreate} onChange={change}>
        {create}
        {upload}
        <Button label="Import state" icon={FileInput} onClick={() => open('import')} />
      </WorkspaceList>
      <Suspense>
        {isNew && mayCreate && (
          <NewWorkspaceDialog organization={organization} projectId={search.project} onClose={close} />
        )}
        {isUpload && uploadReason === undefined && <UploadDialog organization={organization} onClose={close} />}
        {isImport && importReason === undefined && <ImportDialog organization={organization} onClose={close} />}
      </Suspense>
    </Page>
  )
}

const NOT_ALLOWED = 'you can’t create workspaces in any project: an owner can grant a team of yours this permission'

/** Types of queries that a bulk action changes. */
const CHANGES = ['workspaces', 'runs', 'overview', 'projects', 'tags']

type WorkspaceListProps = {
  organization: string
  search: WorkspaceSearch
  mayCreate: boolean
  onChange: ChangeSearch
  /** The actions of the empty list. */
  children: ReactNode
}

function WorkspaceList({ organization, search, mayCreate, onChange, children }: WorkspaceListProps) {
  const { data, fallback } = loaded(useWorkspaces(organization, search), { rows: 12 })
  const rows = data?.rows ?? []
  const actions = useMemo(() => workspaceActions(organization), [organization])
  const selecting = useSelection(rows, [organization, { ...search, page: undefined, sort: undefined }])
  const isFiltered = Object.keys(NO_FILTER).some((name) => search[name as keyof WorkspaceSearch] !== undefined)
  const isBeyond = rows.length === 0 && (search.page ?? 1) > 1
  const isEmpty = data?.rows.length === 0
  const addTag = useCallback((tag: string) => onChange({ tag: withTag(search.tag, tag) }), [onChange, search.tag])

  if (isEmpty && !isFiltered && !isBeyond) {
    return mayCreate ? (
      <NoWorkspaces organization={organization} actions={children} />
    ) : (
      <EmptyState
        icon={Boxes}
        title="No workspaces that you can see"
        text="An owner of the organization can give your team access to some, or the permission to create them."
      />
    )
  }
  return (
    <>
      <WorkspacesFilters organization={organization} search={search} rows={rows} onChange={onChange} />
      {!data && fallback}
      {isEmpty && <NoMatch isBeyond={isBeyond} onChange={onChange} />}
      <BulkBar
        noun="workspace"
        actions={actions}
        rows={rows}
        total={data?.pagination['total-count']}
        hasMore={data?.pagination['next-page'] !== null}
        selecting={selecting}
        readPage={async (_candidates, page, signal) => readWorkspaces(organization, search, page, signal)}
        changes={CHANGES.map((type) => [type, organization])}
      />
      {data && rows.length > 0 && (
        <>
          <WorkspacesTable
            organization={organization}
            rows={rows}
            sort={search.sort ?? 'name'}
            onSort={(sort) => onChange({ sort: sort === 'name' ? undefined : sort })}
            onTag={addTag}
            selection={selecting.checkboxes}
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
      title={isBeyond ? 'No workspaces on this page' : 'No workspaces match'}
      actions={
        <Button
          label={isBeyond ? 'First page' : 'Clear filters'}
          onClick={() => onChange(isBeyond ? { page: undefined } : NO_FILTER)}
        />
      }
    >
      {!isBeyond && <p>The search matches any part of a name. Workspaces must match all filters.</p>}
    </EmptyState>
  )
}

function NoWorkspaces({ organization, actions }: { organization: string; actions: ReactNode }) {
  return (
    <EmptyState icon={Boxes} title="No workspaces yet" actions={actions}>
      <p>
        A workspace holds one configuration with its variables, state and runs (
        <DocsLink page="concepts">Concepts</DocsLink>). The CLI creates one automatically when the configuration names
        it:
      </p>
      <ConnectCli organization={organization} workspace="my-first-workspace" />
    </EmptyState>
  )
}
