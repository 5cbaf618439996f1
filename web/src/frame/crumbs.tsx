import { useMatches, useRouter } from '@tanstack/react-router'
import { Fragment, useEffect } from 'react'
import { focusHeading } from '../components/page.tsx'
import { type Target, TargetLink } from '../components/target.tsx'

/** A step of the way to a page. The last one is the page itself. */
export type Crumb = { text: string; link?: Target }

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The way to the page below its organization; by default nothing. */
    crumbs?: (params: Record<string, string>) => readonly Crumb[]
  }
}

export function Breadcrumb() {
  const match = useMatches().at(-1)
  const params = (match?.params ?? {}) as Record<string, string>
  const crumbs = match?.staticData.crumbs?.(params) ?? []
  const last = crumbs.length - 1
  return (
    <nav aria-label="Breadcrumb" className="min-w-0">
      <ol className="flex min-w-0 items-center gap-1.5 whitespace-nowrap">
        {crumbs.map(({ text, link }, index) => (
          <Fragment
            key={crumbs
              .slice(0, index + 1)
              .map((crumb) => crumb.text)
              .join('/')}
          >
            {index > 0 && (
              <li aria-hidden="true" className="text-dim max-sm:hidden">
                /
              </li>
            )}
            <li className={`min-w-0 truncate ${index < last ? 'max-sm:hidden' : 'font-medium'}`}>
              {index < last && link ? (
                <TargetLink leadsTo={link} className="text-dim hover:text-ink hover:underline">
                  {text}
                </TargetLink>
              ) : (
                <span aria-current={index === last ? 'page' : undefined}>{text}</span>
              )}
            </li>
          </Fragment>
        ))}
      </ol>
    </nav>
  )
}

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
