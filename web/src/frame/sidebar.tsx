import { Link } from '@tanstack/react-router'
import { BookOpen } from 'lucide-react'
import { serverPath } from '../api/base.ts'
import { TargetLink } from '../components/target.tsx'
import { type Destination, organizationPages, OWN_PAGES } from './navigation.ts'
import { OrganizationSwitcher } from './organization-switcher.tsx'

const ITEM =
  'flex items-center gap-2.5 rounded-md px-2.5 py-1.5 text-dim no-underline hover:bg-hover hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent'

/** The way to all pages. On a phone it stands in a drawer, which `onNavigate` closes. */
export function Sidebar({ organization, onNavigate }: { organization: string | undefined; onNavigate?: () => void }) {
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
        {organization !== undefined && <Destinations destinations={organizationPages(organization)} />}
        <div className="mt-auto">
          <Destinations destinations={OWN_PAGES} />
          <a href={serverPath('/docs/api')} className={ITEM}>
            <BookOpen size={16} aria-hidden="true" />
            API documentation
          </a>
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
          {/* The overview's path is the beginning of all others. */}
          <TargetLink leadsTo={link} className={ITEM} exact={text === 'Overview'}>
            <Icon size={16} aria-hidden="true" />
            {text}
          </TargetLink>
        </li>
      ))}
    </ul>
  )
}

/** Layers of ground: the mark of the product. */
export function Mark() {
  return (
    <svg viewBox="0 0 16 16" className="size-5 text-accent" aria-hidden="true">
      <path d="M1 12h14M3 9h10M5 6h6" stroke="currentColor" strokeWidth="2" strokeLinecap="round" />
    </svg>
  )
}
