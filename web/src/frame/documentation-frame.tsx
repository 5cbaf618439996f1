import { Link, Outlet, useLocation, useNavigate, useRouter, useSearch } from '@tanstack/react-router'
import { ArrowLeft, MenuIcon } from 'lucide-react'
import { lazy, useState } from 'react'
import { serverPath } from '../api/base.ts'
import { IconButton, buttonClass } from '../components/button.tsx'
import { Drawer } from '../components/dialog.tsx'
import { SearchField } from '../components/filters.tsx'
import { LazyPopup, OverlayHosts } from '../components/overlay-hosts.tsx'
import { Mark } from '../components/page.tsx'
import { GROUPS } from '../features/documentation/documents.ts'
import { SkipLink, placeBefore, useFocusOnNavigation } from './places.tsx'
import { useShortcuts } from './shortcuts.ts'
import { ThemeMenu } from './top-bar.tsx'

const ShortcutsDialog = lazy(async () => import('./shortcuts-dialog.tsx'))

/** Layout of the documentation, which needs no session. */
export function DocumentationFrame() {
  const [open, setOpen] = useState<'menu' | 'shortcuts'>()
  const close = () => setOpen(undefined)
  useFocusOnNavigation()
  useShortcuts((keys) => {
    if (keys === '?') return setOpen('shortcuts')
    return keys === 'Ctrl K' && document.querySelector<HTMLElement>('header input[type=search]')?.focus()
  })
  return (
    <>
      <SkipLink />
      <header className="sticky top-0 z-30 flex h-12 items-center gap-2 border-b border-line bg-paper px-3 md:px-5">
        <span className="md:hidden">
          <IconButton label="Navigation" icon={MenuIcon} onClick={() => setOpen('menu')} />
        </span>
        <Link to="/docs" className="flex items-center gap-2 text-base font-semibold tracking-tight no-underline">
          <Mark />
          <span className="max-sm:sr-only">Groundstate documentation</span>
        </Link>
        <div className="flex min-w-0 flex-1 justify-end">
          <DocumentSearch />
        </div>
        <ThemeMenu />
        <BackLink />
      </header>
      <Drawer label="Navigation" isOpen={open === 'menu'} onClose={close}>
        <DocumentList onNavigate={close} />
      </Drawer>
      <div className="min-h-[calc(100dvh-3rem)] md:pl-60">
        <aside
          aria-label="Navigation"
          className="fixed top-12 bottom-0 left-0 w-60 overflow-y-auto border-r border-line bg-paper max-md:hidden"
        >
          <DocumentList />
        </aside>
        <main id="content" tabIndex={-1} className="mx-auto w-full max-w-[76rem] px-4 py-5 md:px-8">
          <Outlet />
        </main>
      </div>
      <LazyPopup isOpen={open === 'shortcuts'}>
        <ShortcutsDialog pages={[]} isOpen={open === 'shortcuts'} onClose={close} />
      </LazyPopup>
      <OverlayHosts />
    </>
  )
}

function DocumentSearch() {
  const { q = '' } = useSearch({ strict: false })
  const navigate = useNavigate()
  const { pathname } = useLocation()
  return (
    <SearchField
      label="Search the documentation"
      placeholder="Search…"
      className="w-64"
      value={q}
      onChange={(text) =>
        void navigate({
          to: '/docs',
          search: { q: text === '' ? undefined : text },
          replace: /\/docs\/?$/.test(pathname),
        })
      }
    />
  )
}

/** A link to the page of the application from which the user came. */
function BackLink() {
  const { history } = useRouter()
  return (
    <a
      href={serverPath(placeBefore())}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return
        event.preventDefault()
        history.push(serverPath(placeBefore()))
      }}
      className={buttonClass()}
    >
      <ArrowLeft size={16} />
      <span className="max-sm:sr-only">Back to application</span>
    </a>
  )
}

const ITEM =
  'block rounded-md px-2.5 py-1 text-dim no-underline hover:bg-hover hover:text-ink data-[status=active]:bg-accent-soft data-[status=active]:font-medium data-[status=active]:text-accent'

function DocumentList({ onNavigate }: { onNavigate?: () => void }) {
  return (
    <nav
      aria-label="Documents"
      className="space-y-4 p-3"
      onClick={(event) => event.target instanceof Element && event.target.closest('a') && onNavigate?.()}
    >
      {GROUPS.map(({ reader, documents }) => (
        <div key={reader}>
          <p className="px-2.5 pb-1 text-xs font-medium text-dim">{reader}</p>
          <ul aria-label={reader}>
            {documents.map(({ page, title }) => (
              <li key={page}>
                <Link to="/docs/$page" params={{ page }} className={ITEM}>
                  {title}
                </Link>
              </li>
            ))}
            {reader === 'Integrate' && (
              <li>
                <Link to="/docs/api" className={ITEM}>
                  API reference
                </Link>
              </li>
            )}
          </ul>
        </div>
      ))}
    </nav>
  )
}
