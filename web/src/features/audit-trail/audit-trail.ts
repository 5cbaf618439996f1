import type { adminUserSchema } from '@groundstate/contract/admin'
import type { auditTrailResponse } from '@groundstate/contract/audit-trail'
import type { membershipSchema } from '@groundstate/contract/memberships'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { memberUserSchema } from '@groundstate/contract/users'
import { useQuery } from '@tanstack/react-query'
import { apiPath, get, getData, queryString } from '../../api/client.ts'
import { includedOf, keepWithin } from '../../api/queries.ts'
import type { Target } from '../../components/links.tsx'
import type { Choice } from '../../components/picker.tsx'
import type { AuditSearch } from './audit-search.ts'

type AuditTrail = Wire<typeof auditTrailResponse>
export type AuditEvent = AuditTrail['data'][number]

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

/** A picker's search for people: members of the organization, or all users of the server. */
export function findPeople({ organization }: Scope) {
  return async (q: string, signal: AbortSignal): Promise<Choice[]> => {
    const query = queryString({ q, 'page[size]': 30, ...(organization !== undefined && { include: 'user' }) })
    if (organization === undefined) {
      const users = await getData<PageOnWire<typeof adminUserSchema>>(`/admin/users${query}`, signal)
      return users.map(({ id, attributes }) => ({
        value: id,
        text: attributes.username,
        about: attributes.email ?? undefined,
      }))
    }
    const document = await get<PageOnWire<typeof membershipSchema> & { included?: Wire<typeof memberUserSchema>[] }>(
      `/organizations/${organization}/organization-memberships${query}`,
      signal,
    )
    const included = includedOf(document)
    return document.data.flatMap(({ attributes, relationships }) => {
      const user = included.one('users', relationships.user)
      if (!user || attributes.status !== 'active') return []
      return [{ value: user.id, text: user.attributes.username, about: attributes.email ?? undefined }]
    })
  }
}

/** Types of resources and what the page calls them; the two last have events of the server only. */
export const RESOURCE_TYPES = {
  workspace: 'Workspace',
  run: 'Run',
  state_version: 'State version',
  state_version_output: 'Output',
  configuration_version: 'Configuration',
  variable: 'Variable',
  variable_set: 'Variable set',
  project: 'Project',
  team: 'Team',
  organization_user: 'Member',
  organization: 'Organization',
  task: 'Run task',
  workspace_task: 'Attached run task',
  task_result: 'Task result',
  run_trigger: 'Run trigger',
  comment: 'Comment',
  agent_pool: 'Agent pool',
  agent: 'Agent',
  authentication_token: 'Token',
  data_retention_policy: 'Retention policy',
  reserved_tag_key: 'Reserved tag key',
  sample: 'Sample project',
  user: 'User',
} as const satisfies Record<string, string>

/** The usual actions, for suggestions. */
export const ACTIONS =
  'create update destroy lock unlock force_unlock apply discard cancel force_cancel upload rollback read add_member remove_member add_team update_team_permissions remove_team sign_in sign_in_failed sign_out suspend unsuspend change_password'.split(
    ' ',
  )

export function typeText(type: string) {
  return (RESOURCE_TYPES as Record<string, string>)[type] ?? spaced(type)
}

/** "Force unlock", from `force_unlock`. */
export function actionText(action: string) {
  return action === 'destroy' ? 'Delete' : spaced(action)
}

function spaced(name: string) {
  const text = name.replaceAll('_', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
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
