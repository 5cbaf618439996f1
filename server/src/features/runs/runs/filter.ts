import {
  DISCARDABLE_STATUSES,
  FINAL_STATUSES,
  RUN_GROUPS,
  RUN_STATUS,
  type RunStatus,
  UNFINISHED_STATUSES,
  UNUSED_STATUSES,
} from '@groundstate/contract/run-status'
import { RUN_SOURCES } from '@groundstate/contract/runs'
import { z } from 'zod'
import { exactList, lastText, listOf, type Query, text, time } from '../../../http/query.ts'

const OPERATIONS = ['plan_only', 'save_plan', 'refresh_only', 'destroy', 'empty_apply', 'plan_and_apply'] as const
export type RunOperation = (typeof OPERATIONS)[number]

/** The groups of the public API, and those of the UI. */
const GROUPS = {
  non_final: UNFINISHED_STATUSES,
  final: FINAL_STATUSES,
  discardable: DISCARDABLE_STATUSES,
  ...RUN_GROUPS,
} as const satisfies Record<string, readonly RunStatus[]>

/** A filter of runs: one value of each list must match. `text` is an id or a part of the message. Names are in lower case. */
export type RunFilter = Partial<ReturnType<typeof filterOf>>

const GROUP = listOf(Object.keys(GROUPS) as (keyof typeof GROUPS)[]).describe(
  'groups of statuses; only the first three are in the public API',
)

export const QUEUE_QUERY = { 'filter[status_group]': GROUP } as const

export const FILTER_QUERY = {
  'filter[status]': listOf(RUN_STATUS, UNUSED_STATUSES),
  'filter[status_group]': GROUP,
  'filter[operation]': listOf(OPERATIONS),
  'filter[source]': listOf(RUN_SOURCES),
  'filter[workspace_names]': exactList().describe('names of workspaces'),
  'filter[agent_pool_names]': exactList().describe('names of agent pools'),
  'search[user]': text().describe('the username of the creator of the run'),
  'search[commit]': text().describe('the SHA of the commit of the configuration, or its beginning'),
  'search[basic]': text().describe(
    'a run id, or a part of the message; one or two characters match the start of a word',
  ),
  'filter[timeframe]': z
    .preprocess(
      lastText,
      z
        .string()
        .regex(/^(?:year|\d{4})$/, { error: ({ input }) => `is ${input}; it must be year or a year such as 2026` })
        .optional(),
    )
    .describe('a year such as 2026, or `year` for the last twelve months'),
  'filter[since]': time().describe('not in the public API: runs that changed at or after this time'),
} as const

export type RunQuery = Query<typeof FILTER_QUERY>

/** The filter of a list of runs; undefined without any. */
export function runFilter(query: RunQuery, now: Date): RunFilter | undefined {
  const filter = filterOf(query, now)
  return Object.values(filter).some((part) => part !== undefined) ? filter : undefined
}

function filterOf(query: RunQuery, now: Date) {
  const timeframe = query['filter[timeframe]']
  return {
    statuses: query['filter[status]'],
    groupStatuses: groupStatuses(query['filter[status_group]']),
    operations: query['filter[operation]'],
    sources: query['filter[source]'],
    workspaceNames: query['filter[workspace_names]']?.map((name) => name.toLowerCase()),
    agentPoolNames: query['filter[agent_pool_names]']?.map((name) => name.toLowerCase()),
    username: query['search[user]']?.toLowerCase(),
    commit: query['search[commit]']?.toLowerCase(),
    text: query['search[basic]'],
    created: timeframe === undefined ? undefined : creationPeriod(timeframe, now),
    changedSince: query['filter[since]'],
  }
}

export function groupStatuses(groups: readonly (keyof typeof GROUPS)[] | undefined): RunStatus[] | undefined {
  if (groups === undefined) return undefined
  const statuses = new Set<RunStatus>(groups.flatMap((name) => GROUPS[name]))
  return RUN_STATUS.filter((status) => statuses.has(status))
}

function creationPeriod(timeframe: string, now: Date): { from: Date; before?: Date } {
  if (timeframe === 'year') {
    const from = new Date(now)
    from.setUTCFullYear(from.getUTCFullYear() - 1)
    return { from }
  }
  const year = Number(timeframe)
  return { from: new Date(Date.UTC(year, 0)), before: new Date(Date.UTC(year + 1, 0)) }
}
