import { z } from 'zod'
import { OPERATIONS } from './filter.ts'

/** What `readRunFilter` reads, for the documentation of the API. */
export const FILTER_QUERY = {
  'filter[status]': z.string().describe('statuses, separated by commas'),
  'filter[status_group]': z.string().describe('groups of statuses, separated by commas: non_final, final, discardable'),
  'filter[operation]': z.string().describe(`operations, separated by commas: ${OPERATIONS.join(', ')}`),
  'filter[source]': z.string().describe('sources, separated by commas'),
  'filter[workspace_names]': z.string().describe('names of workspaces, separated by commas'),
  'filter[agent_pool_names]': z.string().describe('names of agent pools, separated by commas'),
  'filter[timeframe]': z.string().describe('a year such as 2026, or `year` for the last twelve months'),
  'search[basic]': z.string().describe('the id of a run, or a part of its message'),
  'search[user]': z.string().describe('the username of who created the run'),
  'search[commit]': z.string().describe('matches no run: there is no version control'),
} as const
