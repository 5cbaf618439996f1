import type { configurationVersionSchema, ingressAttributesSchema } from '@groundstate/contract/configuration-versions'
import type { organizationCapacitySchema } from '@groundstate/contract/organization-overviews'
import type { applySchema, planSchema } from '@groundstate/contract/plans'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import type { queuedRunSchema, runSchema } from '@groundstate/contract/runs'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString } from '../../../api/client.ts'
import { includedOf, keepWithin } from '../../../api/queries.ts'
import type { SearchParams } from '../../../search-params.ts'
import type { RunCommit, RunConfiguration } from '../run-commit.tsx'
import { ORIGINS, type RunAuthor } from '../run-origin.tsx'
import { runTitle } from '../run-text.ts'
import type { Plan, Run } from '../run.ts'

export type ListedRun = {
  id: string
  /** The title, after the workspace in lists of several workspaces. */
  name: string
  attributes: Run['attributes']
  plan: Plan | undefined
  author: RunAuthor | undefined
  configuration: RunConfiguration | undefined
  /** Only for a run whose configuration comes from a repository. */
  commit: RunCommit | undefined
  /** The workspace name; undefined in the list of a single workspace. */
  workspace: string | undefined
}

export type RunsScope = { organization: string; workspaceId?: string | undefined }

export type Included =
  | typeof planSchema
  | typeof applySchema
  | typeof userSchema
  | typeof workspaceSchema
  | typeof configurationVersionSchema
  | typeof ingressAttributesSchema

/** A run as lists show it. */
export const LISTED_PARTS = 'created_by,plan,configuration_version.ingress_attributes'

const PAGE_SIZE = 30

export const OPERATIONS: Readonly<Record<string, string>> = {
  plan_and_apply: 'Plan and apply',
  plan_only: 'Plan only',
  save_plan: 'Saved plan',
  refresh_only: 'Refresh only',
  destroy: 'Destroy',
  empty_apply: 'Empty apply',
}

/** Filters of a run list in the URL. */
export const RUN_FILTERS = {
  q: 'text',
  status: RUN_GROUP_NAMES,
  source: Object.keys(ORIGINS),
  operation: Object.keys(OPERATIONS),
  user: 'text',
  workspace: 'text',
} as const
export type RunSearch = SearchParams<typeof RUN_FILTERS & { page: 'number' }>

function listQuery(search: RunSearch, page: Parameters<typeof queryString>[0]) {
  return queryString({
    'search[basic]': search.q,
    'search[user]': search.user,
    'filter[status_group]': search.status,
    'filter[operation]': search.operation,
    'filter[source]': apiSources(search.source),
    'filter[workspace_names]': search.workspace,
    ...page,
  })
}

function pathOf({ organization, workspaceId }: RunsScope) {
  return workspaceId === undefined ? `/organizations/${organization}/runs` : `/workspaces/${workspaceId}/runs`
}

export function useRuns({ organization, workspaceId }: RunsScope, search: RunSearch) {
  const query = listQuery(search, {
    'page[size]': PAGE_SIZE,
    'page[number]': search.page,
    include: workspaceId === undefined ? `${LISTED_PARTS},workspace` : LISTED_PARTS,
  })
  const scope = workspaceId ?? organization
  return useQuery({
    queryKey: ['runs', scope, 'list', query],
    queryFn: async ({ signal }) => {
      const path = pathOf({ organization, workspaceId })
      const document = await get<PageOnWire<typeof runSchema, Included>>(path + query, signal)
      return { rows: listedRuns(document), pagination: document.meta.pagination }
    },
    placeholderData: keepWithin(scope),
  })
}

/** A page of everything that a search and the parameters `candidates` find, for actions on all of it. */
export async function readRuns(
  scope: RunsScope,
  search: RunSearch,
  { candidates, number, signal }: { candidates: Readonly<Record<string, string>>; number: number; signal: AbortSignal },
) {
  const query = listQuery(search, { 'page[size]': 100, 'page[number]': number, include: 'workspace', ...candidates })
  const document = await get<PageOnWire<typeof runSchema, Included>>(pathOf(scope) + query, signal)
  return { rows: listedRuns(document), hasMore: document.meta.pagination['next-page'] !== null }
}

export function listedRuns(
  document: PageOnWire<typeof runSchema, Included> | PageOnWire<typeof queuedRunSchema, Included>,
) {
  const included = includedOf(document)
  return document.data.map(({ id, attributes, relationships }): ListedRun => {
    const workspace = included.one('workspaces', relationships.workspace)?.attributes.name
    const configuration = included.one('configuration-versions', relationships['configuration-version'])
    const title = runTitle({ id, message: attributes.message })
    return {
      id,
      name: workspace === undefined ? title : `${workspace}: ${title}`,
      attributes,
      plan: included.one('plans', relationships.plan),
      author: included.one('users', relationships['created-by']),
      configuration,
      commit: included.one('ingress-attributes', configuration?.relationships['ingress-attributes']),
      workspace,
    }
  })
}

/** The API sources of comma-separated origins. */
function apiSources(origins: string | undefined) {
  const names = origins?.split(',') ?? []
  return Object.entries(ORIGINS)
    .flatMap(([name, { sources }]) => (names.includes(name) ? sources : []))
    .join(',')
}

export function useQueuePositions(organization: string, isEnabled: boolean) {
  return useQuery({
    queryKey: ['runs', organization, 'queue'],
    enabled: isEnabled,
    queryFn: async ({ signal }) => {
      const query = { 'filter[status_group]': 'waiting', 'page[size]': 100 }
      const [queue, position] = await Promise.all([
        getQueue(organization, query, signal),
        positions(organization, signal),
      ])
      return new Map(queue.data.map((run) => [run.id, position(run)]))
    },
    placeholderData: keepWithin(organization),
  })
}

export async function getQueue(organization: string, query: Parameters<typeof queryString>[0], signal: AbortSignal) {
  const path = `/organizations/${organization}/runs/queue${queryString(query)}`
  return get<PageOnWire<typeof queuedRunSchema, Included>>(path, signal)
}

/** Requests the number of running runs, and returns a function for the position of a run in the agent queue. */
export async function positions(organization: string, signal: AbortSignal) {
  const path = `/organizations/${organization}/capacity`
  const { running } = (await getData<DocumentOnWire<typeof organizationCapacitySchema>>(path, signal)).attributes
  return ({ attributes }: { attributes: QueuedRun }) => queuePosition(attributes, running)
}

type QueuedRun = Pick<Wire<typeof queuedRunSchema>['attributes'], 'status' | 'position-in-queue'>

/** The 1-based position in the agent queue, without `running` runs; undefined for a run blocked in its workspace. */
export function queuePosition({ status, 'position-in-queue': position }: QueuedRun, running: number) {
  return position === 0 || status === 'pending' ? undefined : Math.max(1, position - running)
}
