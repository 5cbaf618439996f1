import { getRouteApi } from '@tanstack/react-router'
import { Download, History } from 'lucide-react'
import { useMemo } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { DocsLink } from '../../components/docs-link.tsx'
import { EmptyState, NotFoundPage, loaded } from '../../components/feedback.tsx'
import { Menu } from '../../components/menu.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import { AuditFilters } from './audit-filters.tsx'
import { type AuditSearch, NO_FILTER, isFiltered } from './audit-search.ts'
import { type Scope, curlPath, exportHref, resourceName, useAuditEvent, useAuditTrail } from './audit-trail.ts'
import { EventDrawer } from './event-drawer.tsx'
import { type AuditEvent, actorText, eventText } from './event-text.ts'

const route = getRouteApi('/frame/app/$organization/audit-trail')
const siteRoute = getRouteApi('/frame/app/admin/audit-trail')

export function AuditTrailPage() {
  const { organization } = route.useParams()
  const search = route.useSearch()
  const permissions = useOrganizationPermissions(organization)
  const navigate = route.useNavigate()
  const scope = useMemo(() => ({ organization }), [organization])
  if (permissions && !permissions['can-manage-auditing'])
    return <NotFoundPage title="Audit trail not found">Only owners see this page.</NotFoundPage>
  return <Trail scope={scope} search={search} onSearch={(options) => void navigate(options)} />
}

const SITE: Scope = { organization: undefined }

export function SiteAuditTrailPage() {
  const navigate = siteRoute.useNavigate()
  return <Trail scope={SITE} search={siteRoute.useSearch()} onSearch={(options) => void navigate(options)} />
}

type TrailProps = {
  scope: Scope
  search: AuditSearch
  onSearch: (options: { search: AuditSearch; replace?: boolean }) => void
}

function Trail({ scope, search, onSearch }: TrailProps) {
  const { data, fallback } = loaded(useAuditTrail(scope, search), { rows: 10 })
  const listed = data?.events.find(({ id }) => id === search.event)
  const linked = useAuditEvent(scope, listed ? undefined : search.event)
  const about =
    scope.organization === undefined
      ? 'Every change on this server, and every sign-in: who, when, from where.'
      : 'Every change in the organization: who, when, from where.'
  const columns = useMemo(() => columnsOf((id) => onSearch({ search: { ...search, event: id } })), [search, onSearch])
  function change(filter: AuditSearch, { isTyping = false } = {}) {
    onSearch({ search: { ...search, ...filter, page: undefined, event: undefined }, replace: isTyping })
  }
  return (
    <Page
      title="Audit trail"
      documentTitle={`Audit trail · ${scope.organization ?? 'Administration'}`}
      about={
        <>
          {about} <DocsLink page="audit">What is recorded</DocsLink>
        </>
      }
      actions={
        <>
          <CopyCurl path={curlPath(scope, search)} />
          <Menu
            items={[
              { text: 'CSV', href: exportHref(scope, search, 'csv') },
              { text: 'JSON Lines', href: exportHref(scope, search, 'jsonl') },
            ]}
            header={isFiltered(search) ? 'The filtered events' : 'All events'}
            trigger={<Button icon={Download} label="Export" />}
          />
        </>
      }
    >
      <AuditFilters scope={scope} search={search} events={data?.events ?? []} onChange={change} />
      {!data && fallback}
      {data?.events.length === 0 &&
        (isFiltered(search) ? (
          <EmptyState
            icon={History}
            title="No events match"
            text="Select a longer period, or remove a filter."
            actions={<Button label="Clear filters" onClick={() => change(NO_FILTER)} />}
          />
        ) : (
          <EmptyState icon={History} title="No events yet" text="The first change is listed here." />
        ))}
      {data && data.events.length > 0 && (
        <>
          <Table label="Audit events" columns={columns} rows={data.events} />
          <Pager pagination={data.pagination} onPage={(page) => onSearch({ search: { ...search, page } })} />
        </>
      )}
      <EventDrawer
        scope={scope}
        event={listed ?? linked.data}
        isOpen={search.event !== undefined}
        onClose={() => onSearch({ search: { ...search, event: undefined } })}
        onFilter={(filter) => change({ ...NO_FILTER, ...filter })}
      />
    </Page>
  )
}

function columnsOf(onOpen: (id: string) => void): readonly Column<AuditEvent>[] {
  return [
    { header: 'Time', cell: ({ timestamp }) => <RelativeTime at={timestamp} className="text-dim" /> },
    { header: 'User', className: 'min-w-24', cell: ({ auth }) => actorText(auth) },
    {
      header: 'Event',
      cell: (event) => (
        <>
          <button
            type="button"
            className="cursor-pointer text-left text-accent hover:underline"
            onClick={() => onOpen(event.id)}
          >
            {eventText(event.resource)}
          </button>
          <span className="block sm:hidden">
            <ResourceName event={event} />
          </span>
        </>
      ),
    },
    {
      header: 'Resource',
      className: 'hidden sm:table-cell',
      cell: (event) => <ResourceName event={event} />,
    },
    {
      header: 'Address',
      className: 'hidden md:table-cell min-w-32',
      cell: ({ auth }) => <span className="numeric text-dim">{auth.address}</span>,
    },
  ]
}

function ResourceName({ event }: { event: AuditEvent }) {
  const name = resourceName(event)
  return name === undefined ? (
    <code className="text-dim wrap-anywhere">{event.resource.id}</code>
  ) : (
    <span className="wrap-anywhere">{name}</span>
  )
}
