import { getRouteApi } from '@tanstack/react-router'
import { Package, Plus } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { FilterChips, SearchField } from '../../components/filters.tsx'
import { ExternalLink, ListLink, TargetLink, useGo, useLeaveDialog } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { ModuleState } from './module-state.tsx'
import { type RegistryModule, type RegistryProvider, useModules, useProviders } from './registry.ts'

const PublishDialog = lazy(async () => import('./publish-dialog.tsx'))

const route = getRouteApi('/frame/app/$organization/registry')
const TABS = { modules: 'Modules', providers: 'Providers' } as const
const REGISTRIES = [
  { value: 'private', text: 'Private' },
  { value: 'public', text: 'Public' },
]

/** The modules and providers that an organization shares. */
export function RegistryPage() {
  const { organization } = route.useParams()
  const { tab, new: isNew = false } = route.useSearch()
  const navigate = route.useNavigate()
  const go = useGo()
  const permissions = useOrganizationPermissions(organization)
  const open = openTab(TABS, tab)
  const setNew = (shown: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: shown || undefined }), replace: true })
  const leave = useLeaveDialog(() => setNew(false))
  const publish = (
    <Button
      label="Publish module"
      kind="primary"
      icon={Plus}
      reason={permissions?.['can-create-module'] === true ? undefined : 'requires the permission to manage modules'}
      onClick={() => setNew(true)}
    />
  )
  return (
    <Page
      title="Registry"
      about="Modules and providers that the workspaces of this organization share, by version."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/registry-${open}`} />
          {publish}
        </>
      }
    >
      <div className="space-y-4">
        <ParamTabs
          label="Parts of the registry"
          tabs={TABS}
          open={open}
          page={{ to: '/app/$organization/registry', params: { organization } }}
        />
        {open === 'modules' ? <Modules publish={publish} /> : <Providers />}
      </div>
      {isNew && permissions?.['can-create-module'] === true && (
        <Suspense>
          <PublishDialog
            organization={organization}
            onClose={() => setNew(false)}
            onPublished={({ name, provider }) => {
              leave()
              go({
                to: '/app/$organization/registry/modules/$name/$provider',
                params: { organization, name, provider },
              })
            }}
          />
        </Suspense>
      )}
    </Page>
  )
}

function useListSearch() {
  const { q, provider, registry, page } = route.useSearch()
  const navigate = route.useNavigate()
  const change = (changes: ReturnType<typeof route.useSearch>, replace = true) =>
    void navigate({ search: (before) => ({ ...before, ...changes }), replace })
  return { search: { q, provider, registry, page }, change }
}

function RegistryFilter() {
  const { search, change } = useListSearch()
  return (
    <FilterChips
      label="Registry"
      chips={REGISTRIES}
      selected={new Set(search.registry === undefined ? [] : [search.registry])}
      onToggle={(value) =>
        change({
          registry: value === search.registry ? undefined : (value as 'private' | 'public'),
          page: undefined,
        })
      }
    />
  )
}

function Modules({ publish }: { publish: React.ReactNode }) {
  const { organization } = route.useParams()
  const { search, change } = useListSearch()
  return (
    <SearchedList
      noun="modules"
      query={useModules(organization, search)}
      search={search}
      onSearch={change}
      isFiltered={search.provider !== undefined || search.registry !== undefined}
      onClearFilters={() => change({ provider: undefined, registry: undefined })}
      filters={
        <>
          <SearchField
            label="Provider"
            className="w-40"
            value={search.provider ?? ''}
            onChange={(provider) => change({ provider: provider || undefined, page: undefined })}
          />
          <RegistryFilter />
        </>
      }
      empty={
        <EmptyState icon={Package} title="No modules yet" actions={publish}>
          <p>
            A module is published once and used in many workspaces by its version, which never changes. Upload an
            archive, or connect a repository whose tags are the versions.
          </p>
          <p>
            <DocsLink page="registry">Publish modules and providers</DocsLink>
          </p>
        </EmptyState>
      }
    >
      {(rows) => <Table label={`Modules of ${organization}`} rows={rows} columns={MODULE_COLUMNS} />}
    </SearchedList>
  )
}

const WORKSPACES: Column<RegistryModule | RegistryProvider> = {
  header: 'Workspaces',
  className: 'hidden sm:table-cell',
  cell: ({ attributes }) => attributes['workspace-count'],
}

const MODULE_COLUMNS: readonly Column<RegistryModule>[] = [
  { header: 'Name', className: 'min-w-36', cell: (module) => <ModuleLink module={module} /> },
  { header: 'Provider', cell: ({ attributes }) => attributes.provider },
  {
    header: 'Latest version',
    cell: (module) => <ModuleState module={module} />,
  },
  WORKSPACES,
  {
    header: 'Published by',
    className: 'hidden md:table-cell',
    cell: ({ attributes }) =>
      attributes['vcs-repo']?.['display-identifier'] ?? <span className="text-dim">upload</span>,
  },
  {
    header: 'Updated',
    className: 'hidden sm:table-cell whitespace-nowrap',
    cell: ({ attributes }) => <RelativeTime at={attributes['updated-at']} />,
  },
]

function ModuleLink({ module: { attributes } }: { module: RegistryModule }) {
  const { organization } = route.useParams()
  const { name, provider, namespace, 'registry-name': registry } = attributes
  if (registry === 'public')
    return (
      <ExternalLink href={`https://registry.terraform.io/modules/${namespace}/${name}/${provider}`}>
        {namespace}/{name}
      </ExternalLink>
    )
  const params = { organization, name, provider }
  return (
    <TargetLink
      leadsTo={{ to: '/app/$organization/registry/modules/$name/$provider', params }}
      className="font-medium hover:underline"
    >
      {name}
    </TargetLink>
  )
}

function Providers() {
  const { organization } = route.useParams()
  const { search, change } = useListSearch()
  return (
    <SearchedList
      noun="providers"
      query={useProviders(organization, search)}
      search={search}
      onSearch={change}
      isFiltered={search.registry !== undefined}
      onClearFilters={() => change({ registry: undefined })}
      filters={<RegistryFilter />}
      empty={
        <EmptyState icon={Package} title="No providers yet">
          <p>
            A provider is published by the API, signed with a{' '}
            <ListLink list="settings/gpg-keys" className="text-accent underline">
              GPG key
            </ListLink>{' '}
            of the organization.
          </p>
          <p>
            <DocsLink page="registry">Publish modules and providers</DocsLink>
          </p>
        </EmptyState>
      }
    >
      {(rows) => <Table label={`Providers of ${organization}`} rows={rows} columns={PROVIDER_COLUMNS} />}
    </SearchedList>
  )
}

const PROVIDER_COLUMNS: readonly Column<RegistryProvider>[] = [
  { header: 'Name', cell: (provider) => <ProviderLink provider={provider} /> },
  { header: 'Namespace', cell: ({ attributes }) => attributes.namespace },
  WORKSPACES,
  {
    header: 'Updated',
    className: 'whitespace-nowrap',
    cell: ({ attributes }) => <RelativeTime at={attributes['updated-at']} />,
  },
]

function ProviderLink({ provider: { attributes } }: { provider: RegistryProvider }) {
  const { organization } = route.useParams()
  const { name, namespace, 'registry-name': registry } = attributes
  if (registry === 'public')
    return (
      <ExternalLink href={`https://registry.terraform.io/providers/${namespace}/${name}`}>
        {namespace}/{name}
      </ExternalLink>
    )
  return (
    <TargetLink
      leadsTo={{ to: '/app/$organization/registry/providers/$name', params: { organization, name } }}
      className="font-medium hover:underline"
    >
      {name}
    </TargetLink>
  )
}
