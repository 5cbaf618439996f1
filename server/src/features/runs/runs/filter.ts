import {
  DISCARDABLE_STATUSES,
  FINAL_STATUSES,
  RUN_GROUPS,
  RUN_STATUS,
  type RunStatus,
  UNFINISHED_STATUSES,
} from '@groundstate/contract/run-status'
import { invalidParameter } from '../../../errors.ts'
import { readOneOf, readText, readTime, readValues } from '../../../http/query.ts'

export const OPERATIONS = [
  'plan_only',
  'save_plan',
  'refresh_only',
  'destroy',
  'empty_apply',
  'plan_and_apply',
] as const
export type RunOperation = (typeof OPERATIONS)[number]

/** Those of the public API, and our own, in which people think. */
const GROUPS = {
  non_final: UNFINISHED_STATUSES,
  final: FINAL_STATUSES,
  discardable: DISCARDABLE_STATUSES,
  ...RUN_GROUPS,
} as const satisfies Record<string, readonly RunStatus[]>

/** What the runs of a list have in common; of every list of values one must match. Names are in lower case. */
export type RunFilter = {
  statuses?: readonly RunStatus[] | undefined
  groupStatuses?: readonly RunStatus[] | undefined
  operations?: readonly RunOperation[] | undefined
  sources?: readonly string[] | undefined
  workspaceNames?: readonly string[] | undefined
  agentPoolNames?: readonly string[] | undefined
  username?: string | undefined
  /** No run comes from a commit, since there is no version control. */
  commit?: string | undefined
  /** An id, or a part of the message. */
  text?: string | undefined
  created?: { from: Date; before?: Date } | undefined
  /** The run has changed at or after this moment. */
  changedSince?: Date | undefined
}

/** Reads the filters of a list of runs; undefined when there are none. Throws `invalid` for a value that cannot match. */
export function readRunFilter(query: Record<string, unknown>, now: Date): RunFilter | undefined {
  const timeframe = readText(query, 'filter[timeframe]')
  const filter: RunFilter = {
    statuses: readOneOf(query, 'filter[status]', RUN_STATUS),
    groupStatuses: readGroups(query),
    operations: readOneOf(query, 'filter[operation]', OPERATIONS),
    sources: readValues(query, 'filter[source]'),
    workspaceNames: readValues(query, 'filter[workspace_names]')?.map((name) => name.toLowerCase()),
    agentPoolNames: readValues(query, 'filter[agent_pool_names]')?.map((name) => name.toLowerCase()),
    username: readText(query, 'search[user]')?.toLowerCase(),
    commit: readText(query, 'search[commit]'),
    text: readText(query, 'search[basic]'),
    created: timeframe === undefined ? undefined : readTimeframe(timeframe, now),
    changedSince: readTime(query, 'filter[since]'),
  }
  return Object.values(filter).some((part) => part !== undefined) ? filter : undefined
}

export const GROUP_NAMES = Object.keys(GROUPS) as (keyof typeof GROUPS)[]

/** The statuses of the groups that the parameter `filter[status_group]` names; undefined without it. */
export function readGroups(query: Record<string, unknown>): RunStatus[] | undefined {
  const groups = readOneOf(query, 'filter[status_group]', GROUP_NAMES)
  if (groups === undefined) return undefined
  const statuses = new Set<RunStatus>(groups.flatMap((name) => GROUPS[name]))
  return RUN_STATUS.filter((status) => statuses.has(status))
}

function readTimeframe(timeframe: string, now: Date) {
  if (timeframe === 'year') {
    const from = new Date(now)
    from.setUTCFullYear(from.getUTCFullYear() - 1)
    return { from }
  }
  if (!/^\d{4}$/.test(timeframe))
    throw invalidParameter(
      `filter[timeframe] is ${timeframe}, it must be year or a year such as 2026`,
      'filter[timeframe]',
    )
  const year = Number(timeframe)
  return { from: new Date(Date.UTC(year, 0)), before: new Date(Date.UTC(year + 1, 0)) }
}
