import { Outlet, useParams, useRouter } from '@tanstack/react-router'
import { lazy, useEffect, useState } from 'react'
import { isNotFound } from '../api/client.ts'
import { useLiveUpdates } from '../api/live.ts'
import { failureOf } from '../api/queries.ts'
import { Drawer } from '../components/dialog.tsx'
import { ErrorNote } from '../components/feedback.tsx'
import { useGo } from '../components/links.tsx'
import { LazyPopup, OverlayHosts } from '../components/overlay-hosts.tsx'
import { useOrganizationPages } from '../features/organizations/organization-pages.ts'
import { useOrganization, useOrganizations } from '../features/organizations/organizations.ts'
import { useSession } from '../features/session/session.ts'
import { SkipLink, useFocusOnNavigation, usePlace } from './places.tsx'
import { useShortcuts } from './shortcuts.ts'
import { Sidebar } from './sidebar.tsx'
import { TopBar } from './top-bar.tsx'

const Palette = lazy(async () => import('./palette.tsx'))
const ShortcutsDialog = lazy(async () => import('./shortcuts-dialog.tsx'))

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
  const pages = useOrganizationPages(organization ?? lastOrganization)
  const [open, setOpen] = useState<'menu' | 'palette' | 'shortcuts'>()
  const goTo = useGo()
  const followed = isNotFound(useOrganization(organization).error) ? undefined : organization
  useLiveUpdates(followed)
  useFocusOnNavigation()
  usePlace()
  useShortcuts((keys) => {
    if (keys === 'Ctrl K') return setOpen('palette')
    if (keys === '?') return setOpen('shortcuts')
    const page = pages.find((candidate) => candidate.keys === keys)
    return page && goTo(page.link)
  })
  const close = () => setOpen(undefined)

  return (
    <>
      <SkipLink />
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
          onSearch={() => setOpen('palette')}
        />
        <main id="content" tabIndex={-1} className="mx-auto w-full max-w-[90rem] px-4 py-5 md:px-6">
          <Outlet />
        </main>
      </div>
      <LazyPopup isOpen={open === 'shortcuts'}>
        <ShortcutsDialog pages={pages} isOpen={open === 'shortcuts'} onClose={close} />
      </LazyPopup>
      <LazyPopup isOpen={open === 'palette'}>
        <Palette
          organization={organization ?? lastOrganization}
          isOpen={open === 'palette'}
          onClose={close}
          onShortcuts={() => setOpen('shortcuts')}
        />
      </LazyPopup>
      <OverlayHosts />
    </>
  )
}

const LAST_ORGANIZATION = 'groundstate-organization'

/** The organization opened last, also before a reload: the user's own pages keep its navigation. */
function useLastOrganization(current: string | undefined) {
  const isFound = useOrganization(current).data !== undefined
  useEffect(() => {
    if (current !== undefined && isFound) localStorage.setItem(LAST_ORGANIZATION, current)
  }, [current, isFound])
  const last = localStorage.getItem(LAST_ORGANIZATION) ?? undefined
  // It may have been renamed or deleted.
  const isMissing = isNotFound(useOrganization(current ?? last).error)
  const organizations = useOrganizations({ isEnabled: last === undefined || isMissing })
  return current ?? (isMissing ? undefined : last) ?? organizations.data?.data[0]?.attributes.name
}

/** Redirects to the sign-in page, which returns here. In an effect, so that a second render does not redirect again. */
function SignInRedirect() {
  const router = useRouter()
  useEffect(() => {
    void router.navigate({ to: '/app/sign-in', search: { next: router.latestLocation.href }, replace: true })
  }, [router])
  return null
}
