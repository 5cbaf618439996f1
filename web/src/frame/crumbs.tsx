import { useMatches, useRouter } from '@tanstack/react-router'
import { Fragment, useEffect } from 'react'
import { focusHeading } from '../components/page.tsx'
import { type Target, TargetLink } from '../components/target.tsx'

/** A breadcrumb. The last one is the page itself. */
export type Crumb = { text: string; link?: Target }

declare module '@tanstack/react-router' {
  interface StaticDataRouteOption {
    /** The breadcrumbs below the organization; none by default. */
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
          // oxlint-disable-next-line react/no-array-index-key -- a breadcrumb is identified by its depth
          <Fragment key={index}>
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

/** Focuses the heading after a navigation to another path. A change of the search parameters keeps the focus. */
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
