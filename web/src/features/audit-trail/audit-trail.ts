import type { auditActorsResponse } from '@groundstate/contract/audit-trail'
import type { Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { apiPath, get, queryString } from '../../api/client.ts'
import { keepWithin } from '../../api/queries.ts'
import type { Target } from '../../components/links.tsx'
import type { Choice } from '../../components/picker.tsx'
import type { AuditSearch } from './audit-search.ts'
import { type AuditEvent, type AuditTrail, actorName } from './event-text.ts'

/** Whose trail a page shows: an organization's, or the whole server's if undefined. */
export type Scope = { organization: string | undefined }

function trailPath({ organization }: Scope, extension = '') {
  return `${organization === undefined ? '/admin' : `/organizations/${organization}`}/audit-trail${extension}`
}

function filterQuery({ q, actor, type, resource, action, since, until }: AuditSearch) {
  return {
    q,
    since,
    until,
    'filter[actor][id]': actor,
    'filter[resource][type]': type,
    'filter[resource][id]': resource,
    'filter[action]': action,
  }
}

export function curlPath(scope: Scope, search: AuditSearch) {
  return trailPath(scope) + queryString(filterQuery(search))
}

/** The address of a file with all events of the filter. */
export function exportHref(scope: Scope, search: AuditSearch, extension: 'csv' | 'jsonl') {
  return apiPath(trailPath(scope, `.${extension}`) + queryString(filterQuery(search)))
}

const PAGE_SIZE = 50

export function useAuditTrail(scope: Scope, { page = 1, ...search }: AuditSearch) {
  const filter = filterQuery(search)
  const key = scope.organization ?? ''
  return useQuery({
    queryKey: ['audit-trail', key, filter, page],
    placeholderData: keepWithin(key),
    queryFn: async () => {
      const query = { ...filter, 'page[size]': PAGE_SIZE, 'page[number]': page }
      const { data, pagination } = await get<AuditTrail>(trailPath(scope) + queryString(query))
      return {
        events: data,
        pagination: {
          'current-page': pagination.current_page,
          'page-size': pagination.page_size,
          'total-pages': pagination.total_pages,
          'total-count': pagination.total_count,
        },
      }
    },
  })
}

/** One event, for a link to it; null if there is none. */
export function useAuditEvent(scope: Scope, id: string | undefined) {
  return useQuery({
    queryKey: ['audit-trail', scope.organization ?? '', 'event', id],
    enabled: id !== undefined,
    queryFn: async () =>
      (await get<AuditTrail>(trailPath(scope) + queryString({ 'filter[id]': id, 'page[size]': 1 }))).data[0] ?? null,
  })
}

/** A picker's search for those who have events. */
export function findActors(scope: Scope) {
  return async (q: string, signal: AbortSignal): Promise<Choice[]> => {
    const path = trailPath(scope, '/actors') + queryString({ q })
    const { actors } = await get<Wire<typeof auditActorsResponse>>(path, signal)
    return actors.map((actor) => ({ value: actor.id, text: actorName(actor) }))
  }
}

/** The name of a resource at the time of the event, if its details have one. */
export function resourceName({ resource: { meta } }: AuditEvent) {
  const name = ['name', 'username', 'key', 'email', 'description'].map((field) => meta?.[field]).find(Boolean)
  return typeof name === 'string' ? name : undefined
}

const PAGES: Record<string, string> = {
  run: 'runs',
  project: 'projects',
  team: 'teams',
  variable_set: 'variable-sets',
  task: 'run-tasks',
  agent_pool: 'agents',
  organization_user: 'members',
}

/** The page of an event's resource, which may no longer exist; undefined where there is none. */
export function resourceLink({ organization }: Scope, event: AuditEvent): Target | undefined {
  const { type, id } = event.resource
  if (organization === undefined)
    return type === 'user' ? { to: '/app/admin/users/$user', params: { user: id } } : undefined
  const base = `/app/${organization}`
  const name = resourceName(event)
  if (type === 'workspace') return name === undefined ? undefined : { to: `${base}/workspaces/${name}` }
  if (type === 'organization') return { to: `${base}/settings` }
  if (type === 'reserved_tag_key') return { to: `${base}/settings/tags` }
  const page = PAGES[type]
  return page === undefined ? undefined : { to: `${base}/${page}/${id}` }
}

/** The page with the token of an event; undefined for a person's, and for tokens of other organizations. */
export function tokenLink({ organization }: Scope, { token }: AuditEvent['auth']): Target | undefined {
  if (organization === undefined || !token) return undefined
  const { type, id } = token.owner
  const base = `/app/${organization}`
  if (type === 'organizations') return { to: `${base}/settings/tokens` }
  return { to: `${base}/${type === 'teams' ? 'teams' : 'agents'}/${id}`, search: { tab: 'tokens' } }
}
