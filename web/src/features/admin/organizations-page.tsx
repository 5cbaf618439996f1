import { Link, getRouteApi } from '@tanstack/react-router'
import { Building2, Plus } from 'lucide-react'
import { buttonClass } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { EmptyState } from '../../components/feedback.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type SiteOrganization, useFeatureSets, useSiteOrganizations } from './organizations.ts'

const route = getRouteApi('/frame/app/admin/organizations')

export function AdminOrganizationsPage() {
  const search = route.useSearch()
  const navigate = route.useNavigate()
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
      about="Plans and limits of all organizations. Their contents are visible to members only."
      actions={
        <>
          <CopyCurl path="/admin/organizations" />
          {create}
        </>
      }
    >
      <SearchedList
        noun="organizations"
        placeholder="Name or email"
        query={useSiteOrganizations(search)}
        search={search}
        onSearch={(change, replace) => void navigate({ search: (before) => ({ ...before, ...change }), replace })}
        empty={
          <EmptyState
            icon={Building2}
            title="No organizations yet"
            text="An organization holds workspaces, teams and settings. Its creator owns it."
            actions={create}
          />
        }
      >
        {(rows) => <Table label="Organizations" columns={columns(nameOf)} rows={rows} />}
      </SearchedList>
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
