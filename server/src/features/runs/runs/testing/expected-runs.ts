import {
  DISCARDABLE_STATUSES,
  FINAL_STATUSES,
  RUN_GROUPS,
  type RunStatus,
  UNFINISHED_STATUSES,
} from '@groundstate/contract/run-status'
import { FLAGS, type KnownRun } from './many-runs.ts'

/** The parameters of a list of runs. */
export type RunQuery = Record<string, string>

const GROUPS: Record<string, readonly RunStatus[]> = {
  ...RUN_GROUPS,
  final: FINAL_STATUSES,
  non_final: UNFINISHED_STATUSES,
  discardable: DISCARDABLE_STATUSES,
}
const OPERATIONS: Record<string, (flags: KnownRun['flags']) => boolean> = {
  plan_only: (flags) => flags.plan_only,
  save_plan: (flags) => flags.save_plan,
  refresh_only: (flags) => flags.refresh_only,
  destroy: (flags) => flags.is_destroy,
  empty_apply: (flags) => flags.allow_empty_apply,
  plan_and_apply: (flags) => FLAGS.every((flag) => !flags[flag]),
}
const BETWEEN_WORDS = /[\s\-_/.:,;=|()[\]{}<>"']/

/** The condition of each parameter, as in the API's documentation. */
const MEANINGS: Record<string, (run: KnownRun, value: string, now: Date) => boolean> = {
  'filter[status]': ({ status }, value) => value.split(',').includes(status),
  'filter[status_group]': ({ status }, value) => value.split(',').some((name) => GROUPS[name]?.includes(status)),
  'filter[operation]': ({ flags }, value) => value.split(',').some((name) => OPERATIONS[name]?.(flags)),
  'filter[source]': ({ source }, value) => value.split(',').includes(source),
  'filter[workspace_names]': ({ workspaceName }, value) => namesOf(value).includes(workspaceName.toLowerCase()),
  'filter[agent_pool_names]': ({ poolName = '' }, value) => namesOf(value).includes(poolName.toLowerCase()),
  'filter[timeframe]': ({ createdAt }, value, now) => isInTimeframe(createdAt, value, now),
  'filter[since]': ({ updatedAt }, value) => updatedAt >= new Date(value),
  'search[user]': ({ username }, value) => username?.toLowerCase() === value.toLowerCase(),
  'search[commit]': () => false,
  'search[basic]': (run, value) => run.id === value || hasText(run.message.toLowerCase(), value.toLowerCase()),
}

function namesOf(value: string) {
  return value.toLowerCase().split(',')
}

function isInTimeframe(createdAt: Date, timeframe: string, now: Date) {
  if (timeframe !== 'year') return createdAt.getUTCFullYear() === Number(timeframe)
  const from = new Date(now)
  from.setUTCFullYear(from.getUTCFullYear() - 1)
  return createdAt >= from
}

function hasText(message: string, text: string) {
  if (Array.from(text).length > 2) return message.includes(text)
  return message.split(BETWEEN_WORDS).some((word) => word.startsWith(text))
}

/** The expected ids of a list, newest first; `runs` are oldest first. */
export function expectedRuns(runs: readonly KnownRun[], query: RunQuery, now: Date): string[] {
  return runs
    .filter((run) => Object.entries(query).every(([name, value]) => MEANINGS[name]?.(run, value, now)))
    .map(({ id }) => id)
    .toReversed()
}
