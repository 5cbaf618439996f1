import type { organizationOverviewSchema } from '@groundstate/contract/organization-overviews'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import type { runSchema } from '@groundstate/contract/runs'
import type { sampleSchema } from '@groundstate/contract/samples'
import { useQuery } from '@tanstack/react-query'
import { CircleDashed, type LucideIcon } from 'lucide-react'
import { useEffect } from 'react'
import { get, getData, isNotFound, ownPath, queryString } from '../../api/client.ts'
import { includedOf, invalidate } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'
import type { Tone } from '../../components/status.tsx'
import {
  getQueue,
  LISTED_PARTS,
  type Included,
  type ListedRun,
  listedRuns,
  positions,
} from '../runs/list/runs-query.ts'
import { RUN_GROUP_STYLE } from '../runs/run-status.tsx'
import { isGenericReason } from '../runs/run-text.ts'

export type Overview = Wire<typeof organizationOverviewSchema>['attributes']
export type Sample = Wire<typeof sampleSchema>

const COLUMN_SIZE = 20
const MINUTE_MS = 60_000
const DAY_MS = 24 * 60 * 60 * 1000

/** Counts and setup progress of an organization, and its sample project if it has one. */
export function useOverview(organization: string, { isEnabled = true }: { isEnabled?: boolean } = {}) {
  return useQuery({
    queryKey: ['overview', organization, 'page'],
    enabled: isEnabled,
    queryFn: async ({ signal }) => {
      const path = `/organizations/${organization}`
      const data = await getData<DocumentOnWire<typeof organizationOverviewSchema>>(`${path}/overview`, signal)
      const { attributes: overview } = data
      return { overview, sample: overview['has-sample'] ? await getSample(path, signal) : undefined }
    },
  })
}

type Group = { value: string; text: string; tone: Tone; icon: LucideIcon; count: number | undefined }

/** The statuses of workspaces with their counts, for links and filters. */
export function workspaceGroups(counts: Overview['workspaces'] | undefined): Group[] {
  return [
    ...RUN_GROUP_NAMES.map((value) => ({
      value,
      ...RUN_GROUP_STYLE[value],
      count: counts?.[value === 'needs_approval' ? 'needs-approval' : value],
    })),
    { value: 'none', text: 'No runs', tone: 'quiet', icon: CircleDashed, count: counts?.['without-runs'] },
  ]
}

/** Refetches the overview when the user returns from a terminal, since the event stream does not report tokens. */
export function useTokenWatch(organization: string, isWaiting: boolean) {
  useEffect(() => {
    if (!isWaiting) return undefined
    const refetch = () => void invalidate(['overview', organization])
    window.addEventListener('focus', refetch)
    document.addEventListener('visibilitychange', refetch)
    return () => {
      window.removeEventListener('focus', refetch)
      document.removeEventListener('visibilitychange', refetch)
    }
  }, [organization, isWaiting])
}

/** The sample project; undefined if it was removed in the meantime. */
async function getSample(path: string, signal: AbortSignal) {
  try {
    return await getData<DocumentOnWire<typeof sampleSchema>>(`${path}/sample`, signal)
  } catch (error) {
    if (error instanceof Error && isNotFound(error)) return undefined
    throw error
  }
}

/** The first runs of a column; `total` is undefined where the API does not count. */
export type ColumnRuns<Row extends ListedRun = ListedRun> = {
  rows: readonly Row[]
  total: number | undefined
  hasMore: boolean
}

/** Runs that need approval, the oldest first. */
export function useRunsToApprove(organization: string) {
  return useQuery({
    queryKey: ['runs', organization, 'to-approve'],
    queryFn: async ({ signal }): Promise<ColumnRuns> => {
      const document = await getQueue(organization, queueQuery('needs_approval'), signal)
      return columnOf(document, listedRuns(document))
    },
  })
}

/** An unfinished run with its queue position, counted from 1; undefined when it is not queued. */
export type ActiveRun = ListedRun & { position: number | undefined }

/** Running and queued runs, the oldest first. */
export function useActiveRuns(organization: string) {
  return useQuery({
    queryKey: ['runs', organization, 'active'],
    queryFn: async ({ signal }): Promise<ColumnRuns<ActiveRun>> => {
      const [document, position] = await Promise.all([
        getQueue(organization, queueQuery('running,waiting'), signal),
        positions(organization, signal),
      ])
      const queue = new Map(document.data.map((run) => [run.id, position(run)]))
      return columnOf(
        document,
        listedRuns(document).map((row) => ({ ...row, position: queue.get(row.id) })),
      )
    },
  })
}

/** A failed run with the URL of the failed phase's log, if any. */
export type FailedRun = ListedRun & { logUrl: string | undefined }

/** Runs that failed in the last 24 hours, the newest first. */
export function useFailedRuns(organization: string) {
  return useQuery({
    queryKey: ['runs', organization, 'failed'],
    queryFn: async ({ signal }): Promise<ColumnRuns<FailedRun>> => {
      const query = queryString({
        'filter[status]': 'errored',
        // Without seconds, so that a refetch can get "not modified".
        'filter[since]': new Date(Math.floor(Date.now() / MINUTE_MS) * MINUTE_MS - DAY_MS).toISOString(),
        'page[size]': COLUMN_SIZE,
        include: `workspace,apply,${LISTED_PARTS}`,
      })
      const document = await get<PageOnWire<typeof runSchema, Included>>(
        `/organizations/${organization}/runs${query}`,
        signal,
      )
      const included = includedOf(document)
      const rows = listedRuns(document).map((row, index) => {
        const { plan, apply } = document.data[index]?.relationships ?? {}
        const phases = [included.one('plans', plan), included.one('applies', apply)]
        const failed = phases.find((phase) => phase?.attributes.status === 'errored')
        return { ...row, logUrl: failed?.attributes['log-read-url'] }
      })
      return { rows, total: undefined, hasMore: document.meta.pagination['next-page'] !== null }
    },
  })
}

function queueQuery(groups: string) {
  return { 'filter[status_group]': groups, 'page[size]': COLUMN_SIZE, include: `workspace,${LISTED_PARTS}` }
}

function columnOf<Row extends ListedRun>(
  document: { meta: { pagination: { 'total-count': number } } },
  rows: readonly Row[],
): ColumnRuns<Row> {
  const total = document.meta.pagination['total-count']
  return { rows, total, hasMore: total > rows.length }
}

/** Load of the agents: "3 of 5 agents busy". */
export function agentLoad({ agents, jobs }: Pick<Overview, 'agents' | 'jobs'>): string {
  const active = counted(jobs.running, 'active run')
  // The user may not see agents.
  if (agents === null) return active
  if (agents.online > 0) {
    const busy = `${agents.busy} of ${counted(agents.online, 'agent')} busy`
    return agents['is-built-in-online'] ? `${busy}, plus the built-in agent` : busy
  }
  return agents['is-built-in-online'] ? `${active} on the built-in agent` : 'No agents online'
}

/** How much of the end of a log, where its errors are, is searched, in bytes. */
const SEARCHED_BYTES = 256 * 1024

/** The first line of a run's error; undefined while its log is read, null if neither contains one. */
export function useFailureReason({ id, attributes, logUrl }: FailedRun): string | null | undefined {
  const reported = attributes['error-message']
  const isInLog = logUrl !== undefined && (reported === null || isGenericReason(reported))
  const log = useQuery({
    // The log of a failed run no longer changes.
    queryKey: ['logs', id, 'failure'],
    staleTime: Number.POSITIVE_INFINITY,
    enabled: isInLog,
    queryFn: async ({ signal }) => {
      const response = await fetch(`${ownPath(logUrl ?? '')}?tail=${SEARCHED_BYTES}`, { signal })
      if (!response.ok) return null
      const { errorInLog } = await import('../runs/log/log-text.ts')
      return errorInLog(await response.text())
    },
  })
  const fallback = reported === null ? null : (reported.trim().split('\n', 1)[0] ?? '')
  return !isInLog || log.isError || log.data === null ? fallback : log.data
}
