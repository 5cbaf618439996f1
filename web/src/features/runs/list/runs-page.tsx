import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import { getRouteApi } from '@tanstack/react-router'
import { Play, SearchX } from 'lucide-react'
import type { ReactNode } from 'react'
import { BulkBar, useSelection } from '../../../components/bulk-bar.tsx'
import { Button } from '../../../components/button.tsx'
import { CopyCurl } from '../../../components/copy-curl.tsx'
import { DocsLink } from '../../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../../components/feedback.tsx'
import { ActiveFilters, FilterChips, SearchField } from '../../../components/filters.tsx'
import { ListLink, WorkspaceLink } from '../../../components/links.tsx'
import { Page } from '../../../components/page.tsx'
import { Pager } from '../../../components/pager.tsx'
import { Picker } from '../../../components/picker.tsx'
import { useOrganizationPermissions } from '../../organizations/organizations.ts'
import { useSession } from '../../session/session.ts'
import { ConnectCli } from '../../workspaces/connect-cli.tsx'
import { useTargetReason } from '../../workspaces/new-workspace.ts'
import { useOpenWorkspace } from '../../workspaces/workspace.ts'
import { findWorkspaces } from '../../workspaces/workspaces.ts'
import { ORIGINS } from '../run-origin.tsx'
import { RUN_GROUP_STYLE } from '../run-status.tsx'
import { RUN_BULK_ACTIONS } from './bulk-actions.ts'
import {
  OPERATIONS,
  RUN_FILTERS,
  type RunSearch,
  type RunsScope,
  readRuns,
  useQueuePositions,
  useRuns,
} from './runs-query.ts'
import { RunsTable } from './runs-table.tsx'

const organizationRoute = getRouteApi('/frame/app/$organization/runs')
const workspaceRoute = getRouteApi('/frame/app/$organization/workspaces/$workspace/runs')

export function RunsPage() {
  const { organization } = organizationRoute.useParams()
  const navigate = organizationRoute.useNavigate()
  const mayUpload = useTargetReason(organization, 'can-queue-run') === undefined
  return (
    <Page title="Runs" actions={<CopyCurl path={`/organizations/${organization}/runs`} />}>
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
          <ListLink list="workspaces" className="font-medium text-accent underline">
            Open a workspace
          </ListLink>{' '}
          to create a run
          {mayUpload && (
            <>
              , or{' '}
              <ListLink list="workspaces" search={{ upload: true }} className="font-medium text-accent underline">
                upload a configuration
              </ListLink>
            </>
          )}{' '}
          (<DocsLink page="runs">Runs</DocsLink>).
        </p>
      </RunsList>
    </Page>
  )
}

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
          <p>
            A run needs a configuration.{' '}
            <WorkspaceLink workspace={name} search={{ upload: true }} className="font-medium text-accent underline">
              Upload one
            </WorkspaceLink>
            , or plan with the CLI:
          </p>
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
  const { data, fallback } = loaded(useRuns(scope, search), { rows: 8 })
  // Only owners see the runs of all workspaces.
  const seesAll = useOrganizationPermissions(organization)?.['can-destroy'] !== false || workspace !== undefined
  const rows = data?.rows ?? []
  const selecting = useSelection(rows, [scope, { ...search, page: undefined }])
  const positions = useQueuePositions(
    organization,
    rows.some(({ attributes }) => attributes['waiting-reason'] !== null),
  )
  const isPastEnd = rows.length === 0 && (search.page ?? 1) > 1
  const isEmpty = data?.rows.length === 0
  const reset = () => onSearch(isPastEnd ? { page: undefined } : { ...NO_FILTER, page: undefined })

  if (isEmpty && !isFiltered(search) && !isPastEnd)
    return (
      <EmptyState icon={Play} title={seesAll ? 'No runs yet' : 'No runs that you can see'}>
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
      {!data && fallback}
      {isEmpty && (
        <EmptyState
          icon={SearchX}
          title={isPastEnd ? 'No runs on this page' : 'No runs match'}
          actions={<Button label={isPastEnd ? 'First page' : 'Clear filters'} onClick={reset} />}
        >
          {!isPastEnd && <p>The search matches words of the message, or the full run ID.</p>}
        </EmptyState>
      )}
      <BulkBar
        noun="run"
        actions={RUN_BULK_ACTIONS}
        rows={rows}
        total={data && totalOf(data.pagination)}
        hasMore={data?.pagination['next-page'] !== null}
        selecting={selecting}
        readPage={async (candidates, number, signal) => readRuns(scope, search, { candidates, number, signal })}
        changes={['runs', 'workspaces', 'overview'].flatMap((type) => [
          [type, organization],
          [type, scope.workspaceId ?? organization],
        ])}
      />
      {data && rows.length > 0 && (
        <>
          <RunsTable
            {...{ organization, workspace, rows }}
            positions={positions.data}
            selection={selecting.checkboxes}
          />
          <Pager pagination={data.pagination} onPage={(page) => onSearch({ page: page === 1 ? undefined : page })} />
        </>
      )}
    </>
  )
}

/** Undefined for the runs of an organization, which the API does not count. */
function totalOf(pagination: { 'total-count'?: number }) {
  return pagination['total-count']
}

/** `isTyping` changes replace the history entry. */
type ChangeSearch = (change: Partial<RunSearch>, options?: { isTyping?: boolean }) => void

const NO_FILTER: Partial<RunSearch> = Object.fromEntries(Object.keys(RUN_FILTERS).map((name) => [name, undefined]))

function isFiltered(search: RunSearch) {
  return Object.keys(NO_FILTER).some((name) => search[name as keyof RunSearch] !== undefined)
}

/** `hasWorkspaces`: the list contains runs of several workspaces. */
type RunFiltersProps = { organization: string; hasWorkspaces: boolean; search: RunSearch; onChange: ChangeSearch }

function RunFilters({ organization, hasWorkspaces, search, onChange }: RunFiltersProps) {
  const groups = new Set((search.status ?? '').split(',').filter((group) => group !== ''))
  const username = useSession().data?.attributes.username
  return (
    <div className="mb-3 space-y-2.5">
      <FilterChips
        label="Status"
        chips={RUN_GROUP_NAMES.map((value) => ({ value, ...RUN_GROUP_STYLE[value] }))}
        selected={groups}
        onToggle={(value) => {
          const next = [...groups.symmetricDifference(new Set([value]))]
          onChange({ status: next.join(',') || undefined })
        }}
      />
      <div className="flex flex-wrap items-center gap-2">
        <SearchField
          label="Search by message or run ID"
          value={search.q ?? ''}
          onChange={(q) => onChange({ q: q || undefined }, { isTyping: true })}
        />
        {hasWorkspaces && (
          <Picker
            label="Workspace"
            about={['workspaces', organization]}
            load={findWorkspaces(organization)}
            onChoose={({ text }) => onChange({ workspace: text })}
          />
        )}
        {PICKERS.map(({ name, label, texts }) => (
          <Picker
            key={name}
            label={label}
            about={[`run-${name}`]}
            load={(text) => choices(texts, text)}
            onChoose={({ value }) => onChange({ [name]: value })}
          />
        ))}
        {/* Accepts any name: a user who can read runs may not be able to list the members. */}
        <Picker
          label="User"
          placeholder="Username"
          about={['run-people']}
          load={(text) => (username?.includes(text) ? [{ value: username, text: username, about: 'you' }] : [])}
          freeText={(text) => ({ value: text, text })}
          onChoose={({ value }) => onChange({ user: value })}
        />
      </div>
      <ActiveFilters filters={activeFilters(search, onChange)} onClear={() => onChange(NO_FILTER)} />
    </div>
  )
}

const ORIGIN_NAMES = Object.fromEntries(Object.entries(ORIGINS).map(([name, { text }]) => [name, text]))

const PICKERS = [
  { name: 'source', label: 'Source', texts: ORIGIN_NAMES },
  { name: 'operation', label: 'Operation', texts: OPERATIONS },
] as const

function choices(names: Readonly<Record<string, string>>, text: string) {
  return Object.entries(names)
    .filter(([, name]) => name.toLowerCase().includes(text.toLowerCase()))
    .map(([value, name]) => ({ value, text: name }))
}

function activeFilters({ workspace = '', source = '', operation = '', user = '' }: RunSearch, onChange: ChangeSearch) {
  const filters = [
    { key: 'workspace', name: 'Workspace', value: workspace },
    { key: 'source', name: 'Source', value: ORIGIN_NAMES[source] ?? source },
    { key: 'operation', name: 'Operation', value: OPERATIONS[operation] ?? operation },
    { key: 'user', name: 'User', value: user },
  ]
  return filters
    .filter(({ value }) => value !== '')
    .map(({ key, ...filter }) => ({ ...filter, onRemove: () => onChange({ [key]: undefined }) }))
}
