import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { focusHeading } from '../components/page.tsx'

/** The first link of each page, visible only with the focus. */
export function SkipLink() {
  return (
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
  )
}

/** Focuses the heading after a navigation to another path. A change of the search parameters keeps the focus. */
export function useFocusOnNavigation() {
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
        if (fromLocation && pathChanged) focusHeading()
      }),
    [router],
  )
}

const PLACE = 'groundstate-place'

/** Keeps the place in the application that the user leaves for the documentation, in this browser tab. */
export function usePlace() {
  const router = useRouter()
  useEffect(() => {
    // Not `fromLocation`: if the page that is left has not loaded yet, that is the one before it.
    let { href } = router.latestLocation
    return router.subscribe('onBeforeNavigate', ({ toLocation }) => {
      if (toLocation.pathname.startsWith('/docs')) sessionStorage.setItem(PLACE, href)
      else href = toLocation.href
    })
  }, [router])
}

export function placeBefore() {
  return sessionStorage.getItem(PLACE) ?? '/app'
}
