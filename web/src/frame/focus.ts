import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'
import { focusHeading } from '../components/focus-heading.ts'

/**
 * Puts the focus on the heading of a page that has been navigated to, so that keys and screen readers begin there. What
 * only changes the search of an address, such as a filter, leaves the focus where it is.
 */
export function useFocusOnArrival() {
  const router = useRouter()
  useEffect(
    () =>
      router.subscribe('onRendered', ({ fromLocation, pathChanged }) => {
        if (fromLocation && pathChanged) focusHeading()
      }),
    [router],
  )
}
