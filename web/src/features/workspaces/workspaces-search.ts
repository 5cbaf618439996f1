import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import type { SearchParams } from '../../search-params.ts'

/**
 * Filters of the list in the URL. `status` has groups of the current run, `none` for workspaces without a run; `project` is
 * an id; `tag` is a list such as `env=prod,kafka`.
 */
export const WORKSPACE_FILTERS = {
  q: 'text',
  status: [...RUN_GROUP_NAMES, 'none'],
  project: 'text',
  tag: 'text',
  version: 'text',
  locked: ['true', 'false'],
  drifted: ['true', 'false'],
} as const
export const WORKSPACE_SORTS = ['name', 'latest-change-at', 'current-run.created-at'].flatMap((name) => [
  name,
  `-${name}`,
])
export type WorkspaceSearch = SearchParams<typeof WORKSPACE_FILTERS & { sort: readonly string[]; page: 'number' }>
