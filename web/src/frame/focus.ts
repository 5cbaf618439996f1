import { useRouter } from '@tanstack/react-router'
import { useEffect } from 'react'

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

/** Puts the focus on the heading of the page, where what had it is gone. */
export function focusHeading() {
  const heading = document.querySelector<HTMLElement>('main h1') ?? document.querySelector<HTMLElement>('main')
  heading?.focus({ preventScroll: true })
}
