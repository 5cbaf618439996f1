import type { organizationCapacitySchema } from '@groundstate/contract/organization-overviews'
import type { planSchema } from '@groundstate/contract/plans'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { queuedRunSchema, runSchema } from '@groundstate/contract/runs'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, queryString } from '../../api/client.ts'
import { includedOf, isOfScope } from '../../api/queries.ts'
import { placeInLine } from './place-in-line.ts'
import { ORIGINS, type Origin, type RunAuthor } from './run-origin.tsx'

/** What narrows a list of runs, as it stands in the address. Several values are separated by commas. */
export type RunSearch = {
  q?: string | undefined
  status?: string | undefined
  source?: string | undefined
  operation?: string | undefined
  user?: string | undefined
  workspace?: string | undefined
  page?: number | undefined
}

/** A row of a list of runs. */
export type ListedRun = {
  id: string
  attributes: Wire<typeof runSchema>['attributes']
  plan: Wire<typeof planSchema> | undefined
  author: RunAuthor | undefined
  /** The name of its workspace; undefined in the list of one workspace. */
  workspace: string | undefined
}

/** An organization with all its runs, or one of its workspaces. */
export type RunsScope = { organization: string; workspaceId?: string | undefined }

type ListPagination = {
  'current-page': number
  'page-size': number
  'next-page': number | null
  'total-pages'?: number
  'total-count'?: number
}
type Included = typeof planSchema | typeof userSchema | typeof workspaceSchema

const PAGE_SIZE = 30

export const OPERATIONS = {
  plan_and_apply: 'Plan and apply',
  plan_only: 'Plan only',
  save_plan: 'Saved plan',
  refresh_only: 'Refresh only',
  destroy: 'Destroy',
  empty_apply: 'Empty apply',
} as const satisfies Record<string, string>

/** A page of runs, the newest first. */
export function useRunsList({ organization, workspaceId }: RunsScope, search: RunSearch) {
  const query = queryString({
    'page[size]': PAGE_SIZE,
    'page[number]': search.page,
    'search[basic]': search.q,
    'search[user]': search.user,
    'filter[status_group]': search.status,
    'filter[operation]': search.operation,
    'filter[source]': sourcesOf(search.source),
    'filter[workspace_names]': search.workspace,
    include: workspaceId === undefined ? 'plan,created_by,workspace' : 'plan,created_by',
  })
  return useQuery({
    queryKey: ['runs', workspaceId ?? organization, 'list', query],
    queryFn: async ({ signal }) => {
      const path = workspaceId === undefined ? `/organizations/${organization}/runs` : `/workspaces/${workspaceId}/runs`
      const document = await get<PageOnWire<typeof runSchema, Included>>(path + query, signal)
      const pagination: ListPagination = document.meta.pagination
      return { rows: rowsOf(document), pagination }
    },
    placeholderData: (before, query) => (isOfScope(query, workspaceId ?? organization) ? before : undefined),
  })
}

function rowsOf(document: PageOnWire<typeof runSchema, Included>): ListedRun[] {
  const included = includedOf(document)
  return document.data.map(({ id, attributes, relationships }) => ({
    id,
    attributes,
    plan: included.one('plans', relationships.plan),
    author: included.one('users', relationships['created-by']),
    workspace: included.one('workspaces', relationships.workspace)?.attributes.name,
  }))
}

/** The sources of the API for the origins of an address; what is no origin matches nothing. */
function sourcesOf(origins: string | undefined) {
  return origins
    ?.split(',')
    .flatMap((origin) => (origin in ORIGINS ? ORIGINS[origin as Origin].sources : [origin]))
    .join(',')
}

/** The place in line of each run of an organization that waits for an agent. Nothing is asked while none waits. */
export function useQueuePlaces(organization: string, someWait: boolean) {
  return useQuery({
    queryKey: ['runs', organization, 'queue'],
    enabled: someWait,
    queryFn: async ({ signal }) => {
      const query = queryString({ 'filter[status_group]': 'waiting', 'page[size]': 100 })
      const [queue, capacity] = await Promise.all([
        get<PageOnWire<typeof queuedRunSchema>>(`/organizations/${organization}/runs/queue${query}`, signal),
        get<DocumentOnWire<typeof organizationCapacitySchema>>(`/organizations/${organization}/capacity`, signal),
      ])
      const { running } = capacity.data.attributes
      return new Map(queue.data.map(({ id, attributes }) => [id, placeInLine(attributes, running)]))
    },
    placeholderData: (before, query) => (isOfScope(query, organization) ? before : undefined),
  })
}
