import { getRouteApi } from '@tanstack/react-router'
import { Cable, Plus } from 'lucide-react'
import { buttonClass } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { TargetLink } from '../../components/links.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { type Column, Count, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { ConnectionStatus } from './connection-status.tsx'
import { type Connection, useConnections } from './connections.ts'
import { InstallationsCard } from './installations-card.tsx'
import { PROVIDERS, connectionName } from './providers.ts'

const route = getRouteApi('/frame/app/$organization/connections')

/** The connections of an organization to hosts of repositories. */
export function ConnectionsPage() {
  const { organization } = route.useParams()
  const search = route.useSearch()
  const navigate = route.useNavigate()
  const mayManage = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const { data, fallback } = loaded(useConnections(organization, search), { rows: 4, label: 'Loading the connections' })
  const create = mayManage && (
    <TargetLink
      leadsTo={{ to: '/app/$organization/connections/new', params: { organization } }}
      className={buttonClass({ kind: 'primary' })}
    >
      <Plus size={16} />
      New connection
    </TargetLink>
  )
  return (
    <Page
      title="Connections"
      about="Hosts of repositories that workspaces follow: pushes start runs, and pull requests get plans."
      actions={
        <>
          <CopyCurl path={`/organizations/${organization}/oauth-clients`} />
          {create}
        </>
      }
    >
      {!data && fallback}
      {data?.data.length === 0 && (
        <EmptyState icon={Cable} title="No connections yet" actions={create}>
          <p>
            Connect GitHub, GitLab, Bitbucket, Azure DevOps, Gitea or any git server, then choose the repository of a
            workspace in its settings. <DocsLink page="repositories">Repositories</DocsLink>
          </p>
          {!mayManage && <p>Connecting a host requires the permission to manage connections: ask an owner.</p>}
        </EmptyState>
      )}
      {data && data.data.length > 0 && (
        <Table label={`Connections of ${organization}`} rows={data.data} columns={columnsOf(organization)} />
      )}
      <div className="mt-4 empty:hidden">
        <InstallationsCard organization={organization} mayManage={mayManage} />
      </div>
      <Pager
        pagination={data?.meta.pagination}
        onPage={(page) => void navigate({ search: { page: page === 1 ? undefined : page } })}
      />
    </Page>
  )
}

function columnsOf(organization: string): readonly Column<Connection>[] {
  return [
    {
      header: 'Name',
      className: 'min-w-40',
      cell: (connection) => (
        <TargetLink
          leadsTo={{
            to: '/app/$organization/connections/$connection',
            params: { organization, connection: connection.id },
          }}
          className="font-medium hover:underline"
        >
          {connectionName(connection)}
        </TargetLink>
      ),
    },
    {
      header: 'Host',
      className: 'hidden md:table-cell',
      cell: ({ attributes }) => (
        <>
          {PROVIDERS[attributes['service-provider']].text}
          <span className="block font-mono text-[0.9285em] break-all text-dim">{attributes['http-url']}</span>
        </>
      ),
    },
    { header: 'Status', className: 'w-px', cell: (connection) => <ConnectionStatus connection={connection} /> },
    {
      header: 'Workspaces',
      className: 'hidden w-px text-right sm:table-cell',
      cell: ({ attributes }) => <Count value={attributes['affected-workspaces-count'] ?? 0} />,
    },
    {
      header: 'Last delivery',
      className: 'hidden w-px whitespace-nowrap text-dim sm:table-cell',
      cell: ({ attributes: { 'last-delivery-at': at } }) => (at == null ? 'none' : <RelativeTime at={at} />),
    },
  ]
}
