import { Link, Outlet, useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { useSession, useSignOut } from '../features/session/session.ts'
import { ErrorNote } from './feedback.tsx'

export function Layout() {
  const session = useSession()
  const signOut = useSignOut()
  if (session.isPending) return null
  // A later failed check leaves the page as it is, since it may show values that are shown only once.
  if (session.error && session.data === undefined) return <ErrorNote error={session.error} />
  if (!session.data) return <ToSignIn />
  return (
    <>
      <header className="border-b border-slate-200 bg-white dark:border-slate-800 dark:bg-slate-900">
        <nav
          className="mx-auto flex max-w-6xl flex-wrap items-center gap-x-6 gap-y-2 px-6 py-3 text-sm whitespace-nowrap"
          aria-label="Main"
        >
          <Link to="/app" className="font-semibold tracking-tight text-indigo-700 dark:text-indigo-400">
            Groundstate
          </Link>
          <a href="/docs/api" className="ml-auto hover:underline">
            API documentation
          </a>
          <Link to="/app/settings/tokens" className="hover:underline">
            API tokens
          </Link>
          <Link to="/app/settings/account" className="hover:underline">
            Account
          </Link>
          <img src={session.data.attributes['avatar-url']} alt="" className="size-6 rounded-full" />
          <span>{session.data.attributes.username}</span>
          <button type="button" className="cursor-pointer hover:underline" onClick={() => signOut.mutate()}>
            Sign out
          </button>
        </nav>
      </header>
      <main className="mx-auto max-w-6xl px-6 py-8">
        <Outlet />
      </main>
    </>
  )
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
