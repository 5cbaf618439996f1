import { Link, getRouteApi } from '@tanstack/react-router'
import { Plus, ShieldCheck, UserX } from 'lucide-react'
import { Suspense, lazy } from 'react'
import { Button } from '../../components/button.tsx'
import { CopyCurl } from '../../components/copy-curl.tsx'
import { FilterChips } from '../../components/filters.tsx'
import { Page } from '../../components/page.tsx'
import { SearchedList } from '../../components/searched-list.tsx'
import { Badge } from '../../components/status.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { RelativeTime } from '../../components/time.tsx'
import { type AdminUser, USER_FILTERS, readFilter, useSignInMethod, useUsers } from './users.ts'

const NewUserDialog = lazy(async () => import('./new-user-dialog.tsx'))

const route = getRouteApi('/frame/app/admin/users')

export function UsersPage() {
  const { q, filter: chosen, page, new: isNew = false } = route.useSearch()
  const filter = readFilter(chosen)
  const navigate = route.useNavigate()
  const change = (
    changes: { q?: string | undefined; filter?: string | undefined; page?: number | undefined },
    replace: boolean,
  ) => void navigate({ search: (before) => ({ ...before, ...changes }), replace })
  const setNew = (open: boolean) =>
    void navigate({ search: (before) => ({ ...before, new: open || undefined }), replace: true })
  return (
    <Page
      title="Users"
      about="All accounts of this server."
      actions={
        <>
          <CopyCurl path="/admin/users" />
          <Button label="New user" icon={Plus} kind="primary" onClick={() => setNew(true)} />
        </>
      }
    >
      <SearchedList
        noun="users"
        placeholder="Username or email"
        query={useUsers({ q, filter, page })}
        search={{ q, page }}
        onSearch={change}
        filters={
          <FilterChips
            label="Filter"
            chips={Object.entries(USER_FILTERS).map(([value, { text }]) => ({ value, text }))}
            selected={new Set(filter === undefined ? [] : [filter])}
            onToggle={(value) => change({ filter: value === filter ? undefined : value, page: undefined }, false)}
          />
        }
        isFiltered={filter !== undefined}
        onClearFilters={() => change({ filter: undefined }, true)}
        empty={null}
      >
        {(rows) => <Table label="Users" columns={COLUMNS} rows={rows} />}
      </SearchedList>
      {isNew && (
        <Suspense>
          <NewUserDialog onClose={() => setNew(false)} />
        </Suspense>
      )}
    </Page>
  )
}

const METHODS = {
  password: 'Password',
  sso: 'Single sign-on',
  token: 'API tokens only',
  none: 'No password yet',
} as const

export function SignInMethod({ user }: { user: AdminUser }) {
  const method = METHODS[useSignInMethod(user)]
  return user.attributes['two-factor'].enabled ? `${method}, two-factor` : method
}

export function UserBadges({ user: { attributes } }: { user: AdminUser }) {
  return (
    <>
      {attributes['is-admin'] && <Badge tone="accent" icon={ShieldCheck} text="administrator" />}
      {attributes['is-suspended'] && <Badge tone="bad" icon={UserX} text="suspended" />}
    </>
  )
}

const COLUMNS: readonly Column<AdminUser>[] = [
  {
    header: 'User',
    cell: (user) => (
      <span className="flex flex-wrap items-center gap-x-2 gap-y-1">
        <Link to="/app/admin/users/$user" params={{ user: user.id }} className="font-medium hover:underline">
          {user.attributes.username}
        </Link>
        <UserBadges user={user} />
      </span>
    ),
  },
  { header: 'Email', className: 'max-sm:hidden', cell: ({ attributes }) => <Email {...attributes} /> },
  { header: 'Sign-in', className: 'max-md:hidden', cell: (user) => <SignInMethod user={user} /> },
  {
    header: 'Last active',
    cell: ({ attributes: { 'last-active-at': at } }) =>
      at === null ? <span className="text-dim">never</span> : <RelativeTime at={at} />,
  },
]

function Email({ email, 'unconfirmed-email': unconfirmed }: AdminUser['attributes']) {
  if (unconfirmed === null) return <span className="break-all">{email ?? <span className="text-dim">none</span>}</span>
  return (
    <span className="break-all">
      {unconfirmed} <Badge tone="warn" text="unconfirmed" />
    </span>
  )
}
