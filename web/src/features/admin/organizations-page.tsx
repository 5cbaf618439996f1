import { Link, getRouteApi } from '@tanstack/react-router'
import { Building2, Plus, SearchX } from 'lucide-react'
import { Button, buttonClass } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { EmptyState, loaded } from '../../components/feedback.tsx'
import { SearchField } from '../../components/filters.tsx'
import { Page } from '../../components/page.tsx'
import { Pager } from '../../components/pager.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type SiteOrganization, useFeatureSets, useSiteOrganizations } from './organizations.ts'

const route = getRouteApi('/frame/app/admin/organizations')

export function AdminOrganizationsPage() {
  const { q, page } = route.useSearch()
  const navigate = route.useNavigate()
  const { data, fallback } = loaded(useSiteOrganizations({ q, page }), { rows: 8 })
  const sets = useFeatureSets().data
  const nameOf = (plan: string) =>
    sets?.find(({ attributes }) => attributes.identifier === plan)?.attributes.name ?? plan
  const create = (
    <Link to="/app" search={{ all: true, new: true }} className={buttonClass({ kind: 'primary' })}>
      <Plus size={16} />
      New organization
    </Link>
  )
  return (
    <Page
      title="Organizations"
      documentTitle="Organizations · Administration"
      about="Plans and limits of all organizations. Their contents are visible to members only."
      actions={
        <>
          <CopyCurl path="/admin/organizations" />
          {create}
        </>
      }
    >
      <div className="mb-3">
        <SearchField
          label="Search organizations"
          placeholder="Name or email"
          value={q ?? ''}
          onChange={(text) => void navigate({ search: { q: text || undefined }, replace: true })}
        />
      </div>
      {!data && fallback}
      {data?.data.length === 0 &&
        (q === undefined && page === undefined ? (
          <EmptyState
            icon={Building2}
            title="No organizations yet"
            text="An organization holds workspaces, teams and settings. Its creator owns it."
            actions={create}
          />
        ) : (
          <EmptyState
            icon={SearchX}
            title="No organizations match"
            text="The search matches any part of a name or an email address."
            actions={<Button label="Clear search" onClick={() => void navigate({ search: {} })} />}
          />
        ))}
      {data && data.data.length > 0 && (
        <>
          <Table label="Organizations" columns={columns(nameOf)} rows={data.data} />
          <Pager
            pagination={data.meta.pagination}
            onPage={(to) => void navigate({ search: (before) => ({ ...before, page: to }) })}
          />
        </>
      )}
    </Page>
  )
}

function columns(nameOf: (plan: string) => string): readonly Column<SiteOrganization>[] {
  return [
    {
      header: 'Organization',
      cell: ({ attributes: { name } }) => (
        <Link to="/app/admin/organizations/$name" params={{ name }} className="font-medium hover:underline">
          {name}
        </Link>
      ),
    },
    {
      header: 'Notification email',
      className: 'max-md:hidden',
      cell: ({ attributes }) => <span className="break-all">{attributes['notification-email']}</span>,
    },
    { header: 'Plan', cell: ({ attributes }) => nameOf(attributes.plan) },
    {
      header: 'Concurrent runs',
      className: 'max-sm:hidden',
      cell: ({ attributes: { 'run-concurrency': limit } }) =>
        limit === null ? <span className="text-dim">no limit</span> : <span className="numeric">{limit}</span>,
    },
    {
      header: 'Created',
      className: 'max-sm:hidden',
      cell: ({ attributes }) => <RelativeTime at={attributes['created-at']} />,
    },
  ]
}
