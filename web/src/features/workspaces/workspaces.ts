import type { configurationVersionSchema, ingressAttributesSchema } from '@groundstate/contract/configuration-versions'
import type { planSchema } from '@groundstate/contract/plans'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { effectiveTagBindingSchema } from '@groundstate/contract/tags'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString } from '../../api/client.ts'
import { includedOf, keepWithin } from '../../api/queries.ts'
import type { PickedItem } from '../../components/pick-list.tsx'
import type { Choice } from '../../components/picker.tsx'
import { holderOf } from './lock-holder.ts'
import { readTags, taggedParams } from './tag-filter.ts'
import type { WorkspaceAttributes } from './workspace.ts'
import type { WorkspaceSearch } from './workspaces-search.ts'

const PAGE_SIZE = 50
const RUN_PARTS = ['', '.plan', '.created_by']
const INCLUDE = [
  'latest_run.configuration_version.ingress_attributes',
  ...RUN_PARTS.flatMap((part) => [`current_run${part}`, `latest_run${part}`]),
  'project',
  'locked_by',
  'effective_tag_bindings',
].join(',')

type Page = PageOnWire<
  typeof workspaceSchema,
  | typeof runSchema
  | typeof planSchema
  | typeof userSchema
  | typeof teamSchema
  | typeof projectSchema
  | typeof effectiveTagBindingSchema
  | typeof configurationVersionSchema
  | typeof ingressAttributesSchema
>

/** The query of a list, with its filters and order. */
function listQuery(search: WorkspaceSearch, page: { size: number; number: number | undefined; include: string }) {
  return queryString({
    'page[size]': page.size,
    'page[number]': page.number,
    'search[name]': search.q,
    'filter[run-group]': search.status,
    'filter[project][id]': search.project,
    'filter[engine-version]': search.version,
    'filter[locked]': search.locked,
    'filter[drifted]': search.drifted,
    ...taggedParams(readTags(search.tag)),
    sort: search.sort,
    include: page.include,
  })
}

export function useWorkspaces(organization: string, search: WorkspaceSearch) {
  const query = listQuery(search, { size: PAGE_SIZE, number: search.page, include: INCLUDE })
  return useQuery({
    queryKey: ['workspaces', organization, 'list', query],
    queryFn: async ({ signal }) => {
      const document = await get<Page>(`/organizations/${organization}/workspaces${query}`, signal)
      return { rows: rowsOf(document), pagination: document.meta.pagination }
    },
    placeholderData: keepWithin(organization),
  })
}

/** A page of everything that a search finds, for actions on all of it. */
export async function readWorkspaces(
  organization: string,
  search: WorkspaceSearch,
  number: number,
  signal: AbortSignal,
) {
  const query = listQuery({ ...search, sort: 'name' }, { size: 100, number, include: 'project' })
  const document = await get<Page>(`/organizations/${organization}/workspaces${query}`, signal)
  return { rows: rowsOf(document), hasMore: document.meta.pagination['next-page'] !== null }
}

/** A row of the list. `currentRun` determines the status of the workspace; plan-only runs are never current. */
export type ListedWorkspace = ReturnType<typeof rowsOf>[number]

function rowsOf(document: Page) {
  const included = includedOf(document)
  return document.data.map((workspace) => {
    const { relationships } = workspace
    const latest = included.one('runs', relationships['latest-run'])
    const configuration = included.one('configuration-versions', latest?.relationships['configuration-version'])
    const holder = relationships['locked-by']
    return {
      ...workspace,
      name: workspace.attributes.name,
      project: included.one('projects', relationships.project),
      tags: included
        .many('effective-tag-bindings', relationships['effective-tag-bindings'])
        .map(({ attributes: { key, value } }) => ({ key, value })),
      currentRun: included.one('runs', relationships['current-run']),
      latestRun: latest && {
        run: latest,
        plan: included.one('plans', latest.relationships.plan),
        author: included.one('users', latest.relationships['created-by']),
        configuration,
        commit: included.one('ingress-attributes', configuration?.relationships['ingress-attributes']),
      },
      holder: holderOf(workspace, included.one('users', holder) ?? included.one('teams', holder)),
    }
  })
}

export function useProjectName(id: string | undefined) {
  return useQuery({
    queryKey: ['projects', id, 'name'],
    enabled: id !== undefined,
    staleTime: 60_000,
    queryFn: async () => (await getData<DocumentOnWire<typeof projectSchema>>(`/projects/${id}`)).attributes.name,
  })
}

type Load = (text: string, signal: AbortSignal) => Promise<Choice[]>

/** A picker's search for projects by name, or for those where the user has the permission, except for some ids. */
export function findProjects(
  organization: string,
  { permission, except }: { permission?: 'create-workspace'; except?: ReadonlySet<string> } = {},
): Load {
  return async (q, signal) => {
    const permitted = permission && { [`filter[permissions][${permission}]`]: 'true' }
    const path = `/organizations/${organization}/projects${queryString({ q, 'page[size]': 30, ...permitted })}`
    const data = await getData<PageOnWire<typeof projectSchema>>(path, signal)
    return data.filter(({ id }) => !except?.has(id)).map(({ id, attributes }) => ({ value: id, text: attributes.name }))
  }
}

/** A workspace in a list of selected ones. */
export function workspaceItem(organization: string, id: string, name: string): PickedItem {
  const link = { to: '/app/$organization/workspaces/$workspace', params: { organization, workspace: name } }
  return { id, text: name, link }
}

export function projectItem(organization: string, id: string, name: string): PickedItem {
  return { id, text: name, link: { to: '/app/$organization/projects/$project', params: { organization, project: id } } }
}

/** A picker's search for workspaces by name, except for some ids, in a project or outside of one. */
export function findWorkspaces(
  organization: string,
  except?: ReadonlySet<string | undefined>,
  { inProject, outsideOf }: { inProject?: string | undefined; outsideOf?: string } = {},
): Load {
  return async (text, signal) => {
    const query = queryString({ 'search[name]': text, 'filter[project][id]': inProject, 'page[size]': 30 })
    const path = `/organizations/${organization}/workspaces${query}`
    const data = await getData<PageOnWire<typeof workspaceSchema>>(path, signal)
    return data
      .filter(({ id, relationships }) => !except?.has(id) && relationships.project.data?.id !== outsideOf)
      .map(({ id, attributes }) => ({ value: id, text: attributes.name }))
  }
}

type WorkspacePermission = keyof WorkspaceAttributes['permissions']

/** Whether the user has a permission in a workspace: unknown, and so true, if there are too many to look at each. */
export function useSomeWorkspaceWith(organization: string, permission: WorkspacePermission, { isEnabled = true } = {}) {
  return useQuery({
    queryKey: ['workspaces', organization, 'permissions'],
    enabled: isEnabled,
    queryFn: async ({ signal }) => {
      const path = `/organizations/${organization}/workspaces?page[size]=100`
      const { data, meta } = await get<PageOnWire<typeof workspaceSchema>>(path, signal)
      return {
        isPartial: meta.pagination['next-page'] !== null,
        permissions: data.map(({ attributes }) => attributes.permissions),
      }
    },
    select: ({ isPartial, permissions }) => isPartial || permissions.some((each) => each[permission]),
  }).data
}
