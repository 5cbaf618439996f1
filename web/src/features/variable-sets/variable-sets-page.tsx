import { getRouteApi } from '@tanstack/react-router'
import { Braces, Plus } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { FilterChips } from '../../components/filters.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { Owner, SetName } from './set-name.tsx'
import { type VariableSet, scopeText, useVariableSets } from './variable-sets.ts'

const NewSetDialog = lazy(async () => import('./new-set-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/variable-sets')

const SCOPE_CHIPS = [
  { value: 'global', text: 'All workspaces' },
  { value: 'selected', text: 'Selected' },
] as const

export function VariableSetsPage() {
  const { organization } = route.useParams()
  const { new: isNew = false, project, ...search } = route.useSearch()
  const navigate = route.useNavigate()
  const mayManage = useOrganizationPermissions(organization)?.['can-manage-varsets'] === true
  const sets = useVariableSets(organization, search)
  const onSearch = (change: typeof search, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...change }), replace })
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined, project: undefined }), replace: true })
  const create = mayManage && (
    <Button label="New variable set" kind="primary" icon={Plus} onClick={() => setNew(true)} />
  )
  return (
    <Page
      title="Variable sets"
      about="Variables for many workspaces: for all of them, for projects, or for selected workspaces."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/varsets`} />
          {create}
        </>
      }
    >
      <SearchedList
        noun="variable sets"
        query={sets}
        search={search}
        onSearch={onSearch}
        isFiltered={search.scope !== undefined}
        onClearFilters={() => onSearch({ scope: undefined }, true)}
        filters={
          <FilterChips
            label="Applies to"
            chips={SCOPE_CHIPS}
            selected={new Set(search.scope?.split(','))}
            onToggle={(value) =>
              onSearch({ scope: search.scope === value ? undefined : value, page: undefined }, false)
            }
          />
        }
        empty={
          <EmptyState icon={Braces} title="No variable sets yet" actions={create}>
            <p>
              Credentials, regions and other values that several workspaces share belong in a variable set instead of in
              each workspace. <DocsLink page="concepts">Variables in the documentation</DocsLink>
            </p>
          </EmptyState>
        }
      >
        {(rows) => <Table label={`Variable sets of ${organization}`} rows={rows} columns={columnsOf(organization)} />}
      </SearchedList>
      {/* The server decides whether the user may create a set in the project. */}
      {isNew && (mayManage || project !== undefined) && (
        <Suspense>
          <NewSetDialog organization={organization} projectId={project} onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

function columnsOf(organization: string): readonly Column<VariableSet>[] {
  return [
    { header: 'Name', className: 'min-w-40', cell: (set) => <SetName organization={organization} set={set} /> },
    { header: 'Applies to', cell: (set) => <Scope set={set} /> },
    {
      header: 'Owner',
      className: 'hidden whitespace-nowrap md:table-cell',
      cell: (set) => <Owner set={set} />,
    },
    {
      header: 'Variables',
      className: 'w-px text-right',
      cell: ({ attributes: { 'var-count': count } }) => <Count value={count} />,
    },
    {
      header: 'Updated',
      className: 'hidden w-px whitespace-nowrap text-dim lg:table-cell',
      cell: ({ attributes }) => <RelativeTime at={attributes['updated-at']} />,
    },
  ]
}

function Scope({ set }: { set: VariableSet }) {
  const text = scopeText(set)
  return <span className={text === 'No workspaces' ? 'text-dim' : ''}>{text}</span>
}
