import { z } from 'zod'
import { GROUP_NAMES, OPERATIONS } from './filter.ts'

const GROUP = z
  .string()
  .describe(`groups of statuses, separated by commas: ${GROUP_NAMES.join(', ')}; all but the first three are our own`)

/** What a list of the queue can be narrowed by. */
export const QUEUE_QUERY = { 'filter[status_group]': GROUP } as const

/** What `readRunFilter` reads, for the documentation of the API. */
export const FILTER_QUERY = {
  'filter[status]': z.string().describe('statuses, separated by commas'),
  'filter[status_group]': GROUP,
  'filter[operation]': z.string().describe(`operations, separated by commas: ${OPERATIONS.join(', ')}`),
  'filter[source]': z.string().describe('sources, separated by commas'),
  'filter[workspace_names]': z.string().describe('names of workspaces, separated by commas'),
  'filter[agent_pool_names]': z.string().describe('names of agent pools, separated by commas'),
  'filter[timeframe]': z.string().describe('a year such as 2026, or `year` for the last twelve months'),
  'filter[since]': z
    .string()
    .describe('our own: a time; runs that have changed at or after it, such as those that failed since'),
  'search[basic]': z
    .string()
    .describe('the id of a run, or a part of its message; of one or two characters the beginning of a word'),
  'search[user]': z.string().describe('the username of who created the run'),
  'search[commit]': z.string().describe('matches no run: there is no version control'),
} as const
