import { Outlet, useParams, useRouter } from '@tanstack/react-router'
import { Suspense, lazy, useEffect, useState } from 'react'
import { isNotFound } from '../api/client.ts'
import { useLiveUpdates } from '../api/live.ts'
import { failureOf } from '../api/queries.ts'
import { Drawer } from '../components/dialog.tsx'
import { ErrorNote } from '../components/feedback.tsx'
import { useGo } from '../components/links.tsx'
import { OverlayHosts } from '../components/overlay-hosts.tsx'
import { focusHeading } from '../components/page.tsx'
import {
  useOrganization,
  useOrganizationPermissions,
  useOrganizations,
} from '../features/organizations/organizations.ts'
import { useSession } from '../features/session/session.ts'
import { organizationPages } from './navigation.ts'
import { ShortcutsDialog, useShortcuts } from './shortcuts.tsx'
import { Sidebar } from './sidebar.tsx'
import { TopBar } from './top-bar.tsx'

const Palette = lazy(async () => import('./palette.tsx'))

export function Frame() {
  const session = useSession()
  const failure = failureOf(session)
  if (session.isPending) return null
  // A failed refetch keeps the page, which may show values that are shown only once.
  if (failure) {
    return (
      <main className="mx-auto max-w-xl p-8">
        <h1 className="mb-4 text-xl font-semibold">Groundstate</h1>
        <ErrorNote {...failure} />
      </main>
    )
  }
  if (!session.data) return <SignInRedirect />
  // The key resets all state when another user has signed in in another tab.
  return <SignedIn key={session.data.id} account={session.data.attributes} />
}

function SignedIn({ account }: { account: Parameters<typeof TopBar>[0]['account'] }) {
  const { organization } = useParams({ strict: false })
  const lastOrganization = useLastOrganization(organization)
  const permissions = useOrganizationPermissions(organization ?? lastOrganization)
  const [open, setOpen] = useState<'menu' | 'palette' | 'shortcuts'>()
  // Loaded on first use, then kept mounted for the closing animation.
  const [hasPalette, setHasPalette] = useState(false)
  const goTo = useGo()
  const followed = isNotFound(useOrganization(organization).error) ? undefined : organization
  useLiveUpdates(followed)
  useFocusOnNavigation()
  useShortcuts((keys) => {
    if (keys === 'Ctrl K') return openPalette()
    if (keys === '?') return setOpen('shortcuts')
    const page = organizationPages(organization ?? lastOrganization, permissions).find(
      (candidate) => candidate.keys === keys,
    )
    return page && goTo(page.link)
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
        Skip to content
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

const LAST_ORGANIZATION = 'groundstate-organization'

/** The organization opened last, also before a reload: the user's own pages keep its navigation. */
function useLastOrganization(current: string | undefined) {
  const known = useOrganizations().data?.data.map(({ id }) => id)
  useEffect(() => {
    if (current !== undefined) localStorage.setItem(LAST_ORGANIZATION, current)
  }, [current])
  const last = localStorage.getItem(LAST_ORGANIZATION) ?? undefined
  // It may have been renamed or deleted. The list has only the first hundred organizations.
  const isGone = last !== undefined && known !== undefined && known.length < 100 && !known.includes(last)
  return current ?? (isGone ? known[0] : (last ?? known?.[0]))
}

/** Redirects to the sign-in page, which returns here. In an effect, so that a second render does not redirect again. */
function SignInRedirect() {
  const router = useRouter()
  useEffect(() => {
    void router.navigate({ to: '/app/sign-in', search: { next: router.latestLocation.href }, replace: true })
  }, [router])
  return null
}

/** Focuses the heading after a navigation to another path. A change of the search parameters keeps the focus. */
function useFocusOnNavigation() {
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
        if (fromLocation && pathChanged) focusHeading()
      }),
    [router],
  )
}
