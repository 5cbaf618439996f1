import { RUN_GROUP_NAMES } from '@groundstate/contract/run-status'
import { z } from 'zod'
import { readBoolean, readList, readOneOf, readText } from '../../../http/query.ts'
import type { WorkspaceFilter } from './filter-store.ts'
import { readTagged } from './tag-query.ts'

const GROUPS = [...RUN_GROUP_NAMES, 'none'] as const

/** What `readWorkspaceFilter` reads, for the documentation of the API. */
export const WORKSPACE_FILTER_QUERY = {
  'search[name]': z.string().describe('part of the name'),
  'search[wildcard-name]': z.string().describe('the name, in which `*` stands for any text'),
  'search[tags]': z.string().describe('comma-separated keys of tags that a workspace must have'),
  'search[exclude-tags]': z.string().describe('comma-separated keys of tags that must not be bound to a workspace'),
  'filter[tagged][0][key]': z.string().describe('key of a tag that a workspace must have; 0 may be any index'),
  'filter[tagged][0][value]': z.string().describe('value of the tag with the same index; any value when it is empty'),
  'filter[tag-value-default-null]': z
    .stringbool()
    .describe('whether a tag without a value in the filter must have none in the workspace'),
  'filter[tag-union]': z.stringbool().describe('whether one of the tags is enough'),
  'filter[project][id]': z.string().describe('id of a project'),
  'filter[current-run][status]': z.string().describe('comma-separated statuses of the current run'),
  'filter[run-group]': z
    .string()
    .describe(`our own: comma-separated groups of the current run: ${GROUPS.join(', ')}; \`none\` is without a run`),
  'filter[engine-version]': z.string().describe('our own: the engine version, as it is set'),
  'filter[locked]': z.stringbool().describe('our own: whether the workspace is locked'),
  'filter[drifted]': z.stringbool().describe('our own: whether `has-drift` is true'),
}

/** Throws `invalid` for a value that cannot match. */
export function readWorkspaceFilter(query: Record<string, unknown>): WorkspaceFilter {
  return {
    name: readText(query, 'search[name]'),
    wildcardName: readText(query, 'search[wildcard-name]'),
    projectId: readText(query, 'filter[project][id]'),
    tagged: readTagged(query),
    excludedTags: readList(query, 'search[exclude-tags]'),
    runStatuses: readList(query, 'filter[current-run][status]'),
    runGroups: readOneOf(query, 'filter[run-group]', GROUPS),
    engineVersion: readText(query, 'filter[engine-version]'),
    locked: readBoolean(query, 'filter[locked]'),
    drifted: readBoolean(query, 'filter[drifted]'),
  }
}
