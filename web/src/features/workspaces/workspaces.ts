import type { planSchema } from '@groundstate/contract/plans'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { effectiveTagBindingSchema } from '@groundstate/contract/tags'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, queryString } from '../../api/client.ts'
import { includedOf, isOfScope } from '../../api/queries.ts'
import type { Choice } from '../../components/picker.tsx'
import { type LockHolder, holderOf } from './lock-words.ts'
import { type Tag, readTags, taggedParams } from './tag-filter.ts'

/** Filters and sorting of the list of workspaces, as in the URL. */
export type WorkspaceSearch = {
  q?: string | undefined
  /** Groups of the current run, separated by commas; `none` is without a run. */
  status?: string | undefined
  /** The id of a project. */
  project?: string | undefined
  /** Tags, separated by commas: `env=prod,kafka`. */
  tag?: string | undefined
  version?: string | undefined
  /** `true` or `false`, as `drifted`. */
  locked?: string | undefined
  drifted?: string | undefined
  sort?: string | undefined
  page?: number | undefined
}

/** A row of the list of workspaces. */
export type ListedWorkspace = Wire<typeof workspaceSchema> & {
  project: Wire<typeof projectSchema> | undefined
  tags: readonly Tag[]
  /** Its state is the state of the workspace. Plan-only runs are never current. */
  currentRun: Wire<typeof runSchema> | undefined
  latestRun: { run: Wire<typeof runSchema>; plan?: Wire<typeof planSchema> | undefined; author?: Author } | undefined
  /** The lock holder; undefined while unlocked. */
  holder: LockHolder | undefined
}
type Author = Wire<typeof userSchema> | undefined

const PAGE_SIZE = 50
const RUN_PARTS = ['', '.plan', '.created_by']
const INCLUDE = [
  ...RUN_PARTS.flatMap((part) => [`current_run${part}`, `latest_run${part}`]),
  'project',
  'locked_by',
  'effective_tag_bindings',
].join(',')

type Included =
  | typeof runSchema
  | typeof planSchema
  | typeof userSchema
  | typeof teamSchema
  | typeof projectSchema
  | typeof effectiveTagBindingSchema

/** A page of the workspaces of an organization. */
export function useWorkspaces(organization: string, search: WorkspaceSearch) {
  const query = queryString({
    'page[size]': PAGE_SIZE,
    'page[number]': search.page,
    'search[name]': search.q,
    'filter[run-group]': search.status,
    'filter[project][id]': search.project,
    'filter[engine-version]': search.version,
    'filter[locked]': search.locked,
    'filter[drifted]': search.drifted,
    ...taggedParams(readTags(search.tag)),
    sort: search.sort,
    include: INCLUDE,
  })
  return useQuery({
    queryKey: ['workspaces', organization, 'list', query],
    queryFn: async ({ signal }) => {
      const document = await get<PageOnWire<typeof workspaceSchema, Included>>(
        `/organizations/${organization}/workspaces${query}`,
        signal,
      )
      return { rows: rowsOf(document), pagination: document.meta.pagination }
    },
    placeholderData: (before, query) => (isOfScope(query, organization) ? before : undefined),
  })
}

function rowsOf(document: PageOnWire<typeof workspaceSchema, Included>): ListedWorkspace[] {
  const included = includedOf(document)
  return document.data.map((workspace) => {
    const { relationships } = workspace
    const latest = included.one('runs', relationships['latest-run'])
    return {
      ...workspace,
      project: included.one('projects', relationships.project),
      tags: included
        .many('effective-tag-bindings', relationships['effective-tag-bindings'])
        .map(({ attributes: { key, value } }) => ({ key, value })),
      currentRun: included.one('runs', relationships['current-run']),
      latestRun: latest && {
        run: latest,
        plan: included.one('plans', latest.relationships.plan),
        author: included.one('users', latest.relationships['created-by']),
      },
      holder: holderOf(
        workspace,
        included.one('users', relationships['locked-by']) ?? included.one('teams', relationships['locked-by']),
      ),
    }
  })
}

/** The name of a project of which an address has the id. */
export function useProjectName(id: string | undefined) {
  return useQuery({
    queryKey: ['projects', id, 'name'],
    enabled: id !== undefined,
    staleTime: 60_000,
    queryFn: async () => (await get<DocumentOnWire<typeof projectSchema>>(`/projects/${id}`)).data.attributes.name,
  })
}

/** Projects with the text in their names, for a picker; `permission` omits those where the user lacks it. */
export async function findProjects(
  { organization, permission }: { organization: string; permission?: 'create-workspace' },
  text: string,
  signal?: AbortSignal,
): Promise<Choice[]> {
  const query = queryString({
    q: text,
    'page[size]': 30,
    ...(permission && { [`filter[permissions][${permission}]`]: 'true' }),
  })
  const { data } = await get<PageOnWire<typeof projectSchema>>(
    `/organizations/${organization}/projects${query}`,
    signal,
  )
  return data.map(({ id, attributes }) => ({ value: id, text: attributes.name }))
}
