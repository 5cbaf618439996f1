import { failureOf } from '../../api/queries.ts'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { ErrorPage, Skeleton } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { ParamTabs, openTab } from '../../components/tabs.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { ConnectionDeliveries } from '../vcs-deliveries/connection-deliveries.tsx'
import { ConnectionEvents } from './connection-events.tsx'
import { ConnectionOverview } from './connection-overview.tsx'
import { ConnectionSettings } from './connection-settings.tsx'
import { ConnectionStatus } from './connection-status.tsx'
import { type ShownConnection, connectionRoute, useConnection } from './connections.ts'
import { PROVIDERS, connectionName } from './providers.ts'

const TABS = { overview: 'Overview', deliveries: 'Deliveries', events: 'Events', settings: 'Settings' } as const

export function ConnectionPage() {
  const query = useConnection(connectionRoute.useParams().connection)
  const failure = failureOf(query)
  if (failure) return <ErrorPage what="connection" list="connections" {...failure} />
  return query.data ? <OpenConnection shown={query.data} /> : <Skeleton label="Loading the connection" />
}

function OpenConnection({ shown }: { shown: ShownConnection }) {
  const { organization } = connectionRoute.useParams()
  const { tab } = connectionRoute.useSearch()
  const mayManage = useOrganizationPermissions(organization)?.['can-update-oauth'] === true
  const { connection } = shown
  const { id, attributes } = connection
  const name = connectionName(connection)
  const open = openTab(TABS, tab)
  const paths: Record<typeof open, string> = {
    overview: `/oauth-clients/${id}`,
    deliveries: `/organizations/${organization}/vcs-deliveries?filter[oauth-client]=${id}`,
    events: `/organizations/${organization}/vcs-events`,
    settings: `/oauth-clients/${id}`,
  }
  return (
    <Page
      title={name}
      documentTitle={`${name} · ${TABS[open].toLowerCase()}`}
      badge={<ConnectionStatus connection={connection} isBadge />}
      about={
        attributes.name !== null && (
          <>
            {PROVIDERS[attributes['service-provider']].text} at{' '}
            <span className="font-mono text-[0.9285em] break-all">{attributes['http-url']}</span>
          </>
        )
      }
      actions={<CopyCurl path={paths[open]} />}
    >
      <ParamTabs
        label="Connection"
        tabs={TABS}
        open={open}
        page={{ to: '/app/$organization/connections/$connection', params: { organization, connection: id } }}
      />
      <div className="mt-4">
        {open === 'overview' && <ConnectionOverview {...{ organization, shown, mayManage }} />}
        {open === 'deliveries' && <ConnectionDeliveries {...{ organization, mayManage }} connectionId={id} />}
        {open === 'events' && <ConnectionEvents organization={organization} connectionId={id} />}
        {open === 'settings' && <ConnectionSettings {...{ organization, shown, mayManage }} />}
      </div>
    </Page>
  )
}
