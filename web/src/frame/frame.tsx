import { Outlet, useParams, useRouter } from '@tanstack/react-router'
import { Suspense, lazy, useEffect, useState } from 'react'
import { isNotFound } from '../api/client.ts'
import { useLiveUpdates } from '../api/live.ts'
import { failureOf } from '../api/queries.ts'
import { Drawer } from '../components/dialog.tsx'
import { ErrorNote } from '../components/feedback.tsx'
import { OverlayHosts } from '../components/overlay-hosts.tsx'
import { useGo } from '../components/target.tsx'
import { useOrganization } from '../features/organizations/organizations.ts'
import { useSession } from '../features/session/session.ts'
import { useFocusOnArrival } from './crumbs.tsx'
import { organizationPages } from './navigation.ts'
import { ShortcutsDialog } from './shortcuts-dialog.tsx'
import { useShortcuts } from './shortcuts.ts'
import { Sidebar } from './sidebar.tsx'
import { TopBar } from './top-bar.tsx'

const Palette = lazy(async () => import('./palette.tsx'))

/** Layout of all pages for signed-in users. */
export function Frame() {
  const session = useSession()
  const failure = failureOf(session)
  if (session.isPending) return null
  // A later failed check leaves the page as it is, since it may show values that are shown only once.
  if (failure) {
    return (
      <main className="mx-auto max-w-xl p-8">
        <h1 className="mb-4 text-xl font-semibold">Groundstate</h1>
        <ErrorNote {...failure} />
      </main>
    )
  }
  if (!session.data) return <ToSignIn />
  // Another person, who has signed in in another tab, begins with nothing of this one.
  return <SignedIn key={session.data.id} account={session.data.attributes} />
}

function SignedIn({ account }: { account: Parameters<typeof TopBar>[0]['account'] }) {
  const { organization } = useParams({ strict: false })
  const lastOrganization = useLast(organization)
  const [open, setOpen] = useState<'menu' | 'palette' | 'shortcuts'>()
  // Loaded at the first use, and kept: its way out is animated.
  const [hasPalette, setHasPalette] = useState(false)
  const goTo = useGo()
  // There is nothing to follow in an organization that is not there for the person.
  const isGone = isNotFound(useOrganization(organization).error)
  const followed = isGone ? undefined : organization
  useLiveUpdates(followed)
  useFocusOnArrival()
  useShortcuts((keys) => {
    if (keys === 'Ctrl K') openPalette()
    else if (keys === '?') setOpen('shortcuts')
    else {
      const page =
        organization === undefined ? undefined : organizationPages(organization).find((own) => own.keys === keys)
      if (page) goTo(page.link)
    }
  })
  function openPalette() {
    setHasPalette(true)
    setOpen('palette')
  }
  const close = () => setOpen(undefined)

  return (
    <>
      <a
        href="#content"
        onClick={(event) => {
          event.preventDefault()
          document.querySelector<HTMLElement>('#content')?.focus()
        }}
        className="fixed top-2 left-2 z-50 -translate-y-20 rounded-md bg-accent px-3 py-2 text-on-accent focus:translate-y-0"
      >
        Skip to the content
      </a>
      <div className="min-h-dvh md:pl-56">
        <aside
          className="fixed inset-y-0 left-0 w-56 overflow-y-auto border-r border-line bg-paper max-md:hidden"
          aria-label="Navigation"
        >
          <Sidebar organization={organization ?? lastOrganization} />
        </aside>
        <Drawer label="Navigation" isOpen={open === 'menu'} onClose={close}>
          <Sidebar organization={organization ?? lastOrganization} onNavigate={close} />
        </Drawer>
        <TopBar
          account={account}
          isLive={followed !== undefined}
          onMenu={() => setOpen('menu')}
          onSearch={openPalette}
        />
        <main id="content" tabIndex={-1} className="mx-auto w-full max-w-[90rem] px-4 py-5 md:px-6">
          <Outlet />
        </main>
      </div>
      <ShortcutsDialog isOpen={open === 'shortcuts'} onClose={close} />
      {hasPalette && (
        <Suspense>
          <Palette organization={organization} isOpen={open === 'palette'} onClose={close} />
        </Suspense>
      )}
      <OverlayHosts />
    </>
  )
}

/** The last value that was not undefined: pages of the person keep the way back to the organization. */
function useLast(value: string | undefined) {
  const [last, setLast] = useState(value)
  if (value !== undefined && value !== last) setLast(value)
  return value ?? last
}

/**
 * Redirects to the sign-in page, which returns here. It does so once: a redirect that renders again would return to
 * itself.
 */
function ToSignIn() {
  const router = useRouter()
  useEffect(() => {
    void router.navigate({ to: '/app/sign-in', search: { next: router.latestLocation.href }, replace: true })
  }, [router])
  return null
}
