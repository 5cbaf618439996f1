import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import { boolean, exactText, listOf, type Query, text, textList } from '../../../http/query.ts'
import type { TagPair, WorkspaceFilter } from './filter-store.ts'

const GROUPS = [...RUN_GROUP_NAMES, 'none'] as const

/** The parameters of a list of workspaces. */
export const WORKSPACE_FILTER_QUERY = {
  'search[name]': text().describe('part of the name'),
  'search[wildcard-name]': text().describe('the name, in which `*` stands for any text'),
  'search[tags]': textList().describe('keys of tags that a workspace must have'),
  'search[exclude-tags]': textList().describe('keys of tags that must not be bound to a workspace'),
  'filter[tagged][0][key]': exactText().describe('key of a tag that a workspace must have; 0 may be any index'),
  'filter[tagged][0][value]': exactText().describe('value of the tag with the same index; any value when it is empty'),
  'filter[tag-value-default-null]': boolean().describe(
    'whether a tag without a value in the filter must have none in the workspace',
  ),
  'filter[tag-union]': boolean().describe('whether one of the tags is enough'),
  'filter[project][id]': text().describe('id of a project'),
  'filter[current-run][status]': textList().describe('statuses of the current run'),
  'filter[run-group]': listOf(GROUPS).describe('our own: groups of the current run; `none` is without a run'),
  'filter[engine-version]': text().describe('our own: the engine version, as it is set'),
  'filter[locked]': boolean().describe('our own: whether the workspace is locked'),
  'filter[drifted]': boolean().describe('our own: whether `has-drift` is true'),
}

export type WorkspaceQuery = Query<typeof WORKSPACE_FILTER_QUERY>

export function workspaceFilter(query: WorkspaceQuery): WorkspaceFilter {
  return {
    name: query['search[name]'],
    wildcardName: query['search[wildcard-name]'],
    projectId: query['filter[project][id]'],
    tagged: tagged(query),
    excludedTags: query['search[exclude-tags]'],
    runStatuses: query['filter[current-run][status]'],
    runGroups: query['filter[run-group]'],
    engineVersion: query['filter[engine-version]'],
    locked: query['filter[locked]'],
    drifted: query['filter[drifted]'],
  }
}

/**
 * The tags that a list asks for: `search[tags]` names keys, and `filter[tagged][0][key]` with
 * `filter[tagged][0][value]` pairs. The command lines send both, with an empty value for a key that may have any;
 * `filter[tag-value-default-null]` makes such a key mean one without a value.
 */
function tagged(query: WorkspaceQuery): WorkspaceFilter['tagged'] {
  const union = query['filter[tag-union]'] ?? false
  const defaultValue = query['filter[tag-value-default-null]'] ? '' : null
  const values = query['filter[tagged][0][value]']
  const pairs: TagPair[] = [...query['filter[tagged][0][key]']].flatMap(([index, key]) =>
    key ? [{ key, value: values.get(index) || defaultValue }] : [],
  )
  // A key that is in a pair as well is asked for already.
  const keys = new Set(query['search[tags]']?.filter((key) => union || !pairs.some((pair) => pair.key === key)))
  pairs.push(...[...keys].map((key) => ({ key, value: null })))
  return pairs.length === 0 ? undefined : { pairs, union }
}
