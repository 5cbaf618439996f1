import { RUN_GROUPS } from '@groundstate/contract/run-status'
import type { KnownWorkspace } from './many-workspaces.ts'

/** The query parameters of a list of workspaces. */
export type WorkspaceQuery = Readonly<Record<string, string>>

type Meaning = (workspace: KnownWorkspace, value: string, query: WorkspaceQuery) => boolean

/** Condition of each filter parameter, as documented in the API; other parameters do not filter. */
const MEANINGS: Record<string, Meaning> = {
  'search[name]': ({ name }, value) => name.toLowerCase().includes(value.toLowerCase()),
  'search[wildcard-name]': ({ name }, value) => patternOf(value).test(name),
  'search[exclude-tags]': ({ tags }, value) => value.split(',').every((key) => !(key in tags)),
  'filter[project][id]': ({ projectId }, value) => projectId === value,
  'filter[current-run][status]': ({ status }, value) => status !== undefined && value.split(',').includes(status),
  'filter[run-group]': ({ status }, value) => value.split(',').includes(groupOf(status)),
  'filter[engine-version]': ({ engineVersion }, value) => engineVersion === value,
  'filter[locked]': ({ locked }, value) => `${locked}` === value,
  'filter[drifted]': ({ drifted }, value) => `${drifted}` === value,
}

function patternOf(wildcard: string) {
  const parts = wildcard.split('*').map((part) => part.replaceAll(/[.\\+?^$()[\]{}|]/g, String.raw`\$&`))
  return new RegExp(`^${parts.join('.*')}$`, 'i')
}

function groupOf(status: string | undefined) {
  const group = Object.entries(RUN_GROUPS).find(([, statuses]) => statuses.some((known) => known === status))
  return group?.[0] ?? 'none'
}

/** The tags by `search[tags]` and by pairs: all of them, or any with `filter[tag-union]`. A workspace's binding hides its project's. */
function hasTags({ tags, projectTags }: KnownWorkspace, query: WorkspaceQuery) {
  const effective = new Map(Object.entries({ ...projectTags, ...tags }))
  const keys = query['search[tags]']?.split(',') ?? []
  const matches = keys.map((key) => effective.has(key))
  for (const index of [0, 1]) {
    const key = query[`filter[tagged][${index}][key]`]
    if (key === undefined) continue
    const value = query[`filter[tagged][${index}][value]`]
    const isAny = !value && query['filter[tag-value-default-null]'] !== 'true'
    matches.push(effective.has(key) && (isAny || effective.get(key) === (value ?? '')))
  }
  if (matches.length === 0) return true
  return query['filter[tag-union]'] === 'true' ? matches.includes(true) : !matches.includes(false)
}

/** The ids of the expected workspaces, in order. */
export function expectedWorkspaces(workspaces: readonly KnownWorkspace[], query: WorkspaceQuery): string[] {
  const matching = workspaces.filter(
    (workspace) =>
      hasTags(workspace, query) &&
      Object.entries(query).every(([name, value]) => MEANINGS[name]?.(workspace, value, query) ?? true),
  )
  return matching.toSorted(orderOf(query['sort'] ?? 'name')).map(({ id }) => id)
}

const KEYS: Record<string, (workspace: KnownWorkspace) => string | undefined> = {
  name: ({ name }) => name,
  'latest-change-at': ({ latestChangeAt }) => latestChangeAt.toISOString(),
  'current-run.created-at': ({ runCreatedAt }) => runCreatedAt?.toISOString(),
}

/** Ties are ordered by id. Workspaces without a run are last in both directions. */
function orderOf(sort: string) {
  const sign = sort.startsWith('-') ? -1 : 1
  const keyOf = KEYS[sort.replace(/^-/, '')] ?? KEYS['name']
  return (one: KnownWorkspace, other: KnownWorkspace) => {
    const [a, b] = [keyOf?.(one), keyOf?.(other)]
    if (a === b) return sign * compare(one.id, other.id)
    if (a === undefined || b === undefined) return a === undefined ? 1 : -1
    return sign * compare(a, b)
  }
}

function compare(a: string, b: string) {
  return a < b ? -1 : a > b ? 1 : 0
}
