import type {
  organizationCapacitySchema,
  organizationOverviewSchema,
} from '@groundstate/contract/organization-overviews'
import type { applySchema, planSchema } from '@groundstate/contract/plans'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { RunGroup } from '@groundstate/contract/run-status'
import type { queuedRunSchema, runSchema } from '@groundstate/contract/runs'
import type { sampleSchema } from '@groundstate/contract/samples'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import { ApiError, get, queryString } from '../../api/client.ts'
import { includedOf } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'
import { type ListedRun, queuePosition } from '../runs/list/runs-query.ts'

export type Overview = Wire<typeof organizationOverviewSchema>['attributes']
export type Sample = Wire<typeof sampleSchema>
type Included = typeof planSchema | typeof applySchema | typeof userSchema | typeof workspaceSchema

/** As many runs as a column shows. */
const COLUMN_SIZE = 20
const DAY_MS = 24 * 60 * 60 * 1000

/** The counts of an organization, how far it has come, and its sample if it has one. */
export function useOverview(organization: string, { isEnabled = true }: { isEnabled?: boolean } = {}) {
  return useQuery({
    queryKey: ['overview', organization, 'page'],
    enabled: isEnabled,
    queryFn: async ({ signal }) => {
      const path = `/organizations/${organization}`
      const { data } = await get<DocumentOnWire<typeof organizationOverviewSchema>>(`${path}/overview`, signal)
      const { attributes: overview } = data
      return { overview, sample: overview['has-sample'] ? await getSample(path, signal) : undefined }
    },
  })
}

/** Looks again when the person comes back to the page from a terminal: the stream of changes tells of no token. */
export function useTokenWatch(organization: string, isWaiting: boolean) {
  const queries = useQueryClient()
  useEffect(() => {
    if (!isWaiting) return undefined
    const look = () => void queries.invalidateQueries({ queryKey: ['overview', organization] })
    window.addEventListener('focus', look)
    document.addEventListener('visibilitychange', look)
    return () => {
      window.removeEventListener('focus', look)
      document.removeEventListener('visibilitychange', look)
    }
  }, [queries, organization, isWaiting])
}

/** The sample; undefined when it has just been removed. */
async function getSample(path: string, signal: AbortSignal) {
  try {
    return (await get<DocumentOnWire<typeof sampleSchema>>(`${path}/sample`, signal)).data
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined
    throw error
  }
}

/** Runs of a column: the first ones, and how many there are; `total` is undefined where the API does not count. */
export type ColumnRuns<Row extends ListedRun = ListedRun> = {
  rows: readonly Row[]
  total: number | undefined
  hasMore: boolean
}

/** The runs that a person has to decide about, the oldest first. */
export function useRunsToDecide(organization: string) {
  return useQuery({
    queryKey: ['runs', organization, 'to-decide'],
    queryFn: async ({ signal }): Promise<ColumnRuns> => {
      const document = await getQueue(organization, ['needs_approval'], signal)
      return columnOf(document, rowsOf(document))
    },
  })
}

/** An unfinished run with its position in the queue, counted from 1; undefined when it is not queued. */
export type LinedRun = ListedRun & { place: number | undefined }

/** The runs that agents work on and those that wait, the oldest first. */
export function useRunsInLine(organization: string) {
  return useQuery({
    queryKey: ['runs', organization, 'in-line'],
    queryFn: async ({ signal }): Promise<ColumnRuns<LinedRun>> => {
      const [document, capacity] = await Promise.all([
        getQueue(organization, ['running', 'waiting'], signal),
        get<DocumentOnWire<typeof organizationCapacitySchema>>(`/organizations/${organization}/capacity`, signal),
      ])
      const { running } = capacity.data.attributes
      const places = new Map(document.data.map(({ id, attributes }) => [id, queuePosition(attributes, running)]))
      const rows = rowsOf(document).map((row) => ({ ...row, place: places.get(row.id) }))
      return columnOf(document, rows)
    },
  })
}

/** A run that has failed, and where the log of the phase is that failed. */
export type FailedRun = ListedRun & { logUrl: string | undefined }

/** The runs that have failed in the last day, the newest first. */
export function useFailedRuns(organization: string) {
  return useQuery({
    queryKey: ['runs', organization, 'failed'],
    queryFn: async ({ signal }): Promise<ColumnRuns<FailedRun>> => {
      const query = queryString({
        'filter[status]': 'errored',
        'filter[since]': new Date(Date.now() - DAY_MS).toISOString(),
        'page[size]': COLUMN_SIZE,
        include: 'workspace,created_by,plan,apply',
      })
      const document = await get<PageOnWire<typeof runSchema, Included>>(
        `/organizations/${organization}/runs${query}`,
        signal,
      )
      const included = includedOf(document)
      const logs = new Map(
        document.data.map(({ id, relationships }) => {
          const phases = [included.one('plans', relationships.plan), included.one('applies', relationships.apply)]
          return [id, phases.find((phase) => phase?.attributes.status === 'errored')?.attributes['log-read-url']]
        }),
      )
      const rows = rowsOf(document).map((row) => ({ ...row, logUrl: logs.get(row.id) }))
      return { rows, total: undefined, hasMore: document.meta.pagination['next-page'] !== null }
    },
  })
}

async function getQueue(organization: string, groups: readonly RunGroup[], signal: AbortSignal) {
  const query = queryString({
    'filter[status_group]': groups.join(','),
    'page[size]': COLUMN_SIZE,
    include: 'workspace,created_by,plan',
  })
  return get<PageOnWire<typeof queuedRunSchema, Included>>(`/organizations/${organization}/runs/queue${query}`, signal)
}

function columnOf<Row extends ListedRun>(
  document: { meta: { pagination: { 'total-count': number } } },
  rows: readonly Row[],
): ColumnRuns<Row> {
  const total = document.meta.pagination['total-count']
  return { rows, total, hasMore: total > rows.length }
}

function rowsOf(document: PageOnWire<typeof runSchema, Included> | PageOnWire<typeof queuedRunSchema, Included>) {
  const included = includedOf(document)
  return document.data.map(({ id, attributes, relationships }): ListedRun => ({
    id,
    attributes,
    plan: included.one('plans', relationships.plan),
    author: included.one('users', relationships['created-by']),
    workspace: included.one('workspaces', relationships.workspace)?.attributes.name,
  }))
}

type Facts = Pick<Overview, 'agents' | 'jobs'>

/** How busy agents are, in words: "3 of 5 agents busy". `isLacking` says that nothing can run now. */
export function agentLoad({ agents, jobs }: Facts): { text: string; isLacking: boolean } {
  const active = counted(jobs.running, 'active run')
  // Who may not see agents sees what they do.
  if (agents === null) return { text: active, isLacking: false }
  if (agents.online > 0) {
    const own = `${agents.busy} of ${counted(agents.online, 'agent')} busy`
    return { text: agents['is-built-in-online'] ? `${own}, plus the built-in agents` : own, isLacking: false }
  }
  if (!agents['is-built-in-online']) return { text: 'No agent is online: nothing can run', isLacking: true }
  return {
    text: jobs.running === 0 ? 'No active runs' : `${active} on the built-in agent`,
    isLacking: false,
  }
}
