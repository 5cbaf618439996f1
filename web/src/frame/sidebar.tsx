import { Link } from '@tanstack/react-router'
import { BookOpen, Building2, ChevronsUpDown } from 'lucide-react'
import { useState } from 'react'
import { TargetLink } from '../components/links.tsx'
import { Menu } from '../components/menu.tsx'
import { Mark } from '../components/page.tsx'
import { type Destination, useOrganizationPages } from '../features/organizations/organization-pages.ts'
import { useOrganizations } from '../features/organizations/organizations.ts'
import { useSession } from '../features/session/session.ts'
import { ADMIN_PAGES, USER_PAGES } from './navigation.ts'

const ITEM =
  'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 text-dim no-underline hover:bg-hover hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent'

/** The main navigation. On phones it is in a drawer, which `onNavigate` closes. */
export function Sidebar({ organization, onNavigate }: { organization: string | undefined; onNavigate?: () => void }) {
  const pagesOfOrganization = useOrganizationPages(organization)
  const { data: account } = useSession()
  const administration = account?.attributes['is-site-admin'] ? ADMIN_PAGES.slice(0, 1) : []
  return (
    <div
      className="flex h-full flex-col gap-4 p-3"
      onClick={(event) => event.target instanceof Element && event.target.closest('a') && onNavigate?.()}
    >
      <Link
        to="/app"
        search={{ all: true }}
        className="flex items-center gap-2 px-2.5 pt-1 text-base font-semibold tracking-tight no-underline"
      >
        <Mark />
        Groundstate
      </Link>
      <OrganizationSwitcher current={organization} />
      <nav aria-label="Main" className="flex flex-1 flex-col gap-4">
        {[...Map.groupBy(pagesOfOrganization, ({ group }) => group)].map(([group, pages]) => (
          <div key={group ?? ''}>
            {group !== undefined && <p className="px-2.5 pb-1 text-xs font-medium text-dim">{group}</p>}
            <Destinations destinations={pages} />
          </div>
        ))}
        <div className="mt-auto">
          <Destinations destinations={[...administration, ...USER_PAGES]} />
          <Link to="/docs" className={ITEM}>
            <BookOpen size={16} />
            Documentation
          </Link>
        </div>
      </nav>
    </div>
  )
}

function Destinations({ destinations }: { destinations: readonly Destination[] }) {
  return (
    <ul className="space-y-0.5">
      {destinations.map(({ text, icon: Icon, link }) => (
        <li key={text}>
          {/* The overview's path is a prefix of all others. */}
          <TargetLink leadsTo={link} className={ITEM} exact={text === 'Overview'}>
            <Icon size={16} />
            {text}
          </TargetLink>
        </li>
      ))}
    </ul>
  )
}

function OrganizationSwitcher({ current }: { current: string | undefined }) {
  const [isNear, setIsNear] = useState(false)
  const { data } = useOrganizations({ isEnabled: isNear })
  const near = () => setIsNear(true)
  const names = data?.data.map(({ attributes }) => attributes.name) ?? []
  return (
    <div onPointerEnter={near} onFocus={near}>
      <Menu
        align="start"
        trigger={
          <button
            type="button"
            className="flex w-full cursor-pointer items-center gap-2 rounded-md border border-line bg-paper px-2.5 py-1.5 text-left hover:bg-hover"
          >
            <Building2 size={16} className="shrink-0 text-dim" />
            <span className="min-w-0 flex-1 truncate font-medium">
              <span className="sr-only">Organization: </span>
              {current ?? 'Select an organization'}
            </span>
            <ChevronsUpDown size={14} className="shrink-0 text-dim" />
          </button>
        }
        items={[
          ...names.map((name) => ({ text: name, link: { to: '/app/$organization', params: { organization: name } } })),
          ...(names.length > 0 ? (['separator'] as const) : []),
          { text: 'All organizations', icon: Building2, link: { to: '/app', search: { all: true } } },
        ]}
      />
    </div>
  )
}
