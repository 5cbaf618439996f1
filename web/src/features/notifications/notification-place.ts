import { useNavigate, useSearch } from '@tanstack/react-router'
import type { Target } from '../../components/links.tsx'
import type { SearchParams } from '../../search-params.ts'
import type { NOTIFICATION_SEARCH } from './notification-search.ts'
import type { Owner } from './notifications.ts'

export type NotificationsProps = {
  owner: Owner
  mayManage: boolean
  /** The page with the notifications. */
  place: Target
}

type Search = SearchParams<typeof NOTIFICATION_SEARCH>

/** The search parameters of the page about notifications, and a function that replaces them. */
export function useNotificationSearch(place: Target) {
  const search: Search = useSearch({ strict: false })
  const navigate = useNavigate()
  const go = (next: Search, { replace = false } = {}) =>
    void navigate({ ...at(place, next), replace, resetScroll: false } as Parameters<typeof navigate>[0])
  return [search, go] as const
}

/** The page with these search parameters. */
export function at(place: Target, search: Search): Target {
  return { ...place, search: { ...place.search, ...(search as Record<string, string>) } }
}
