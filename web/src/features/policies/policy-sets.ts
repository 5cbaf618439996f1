import type { policySchema } from '@groundstate/contract/policies'
import type {
  CreatePolicySet,
  UpdatePolicySet,
  policySetSchema,
  policySetVersionSchema,
} from '@groundstate/contract/policy-sets'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { userSchema } from '@groundstate/contract/users'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { get, queryString, request } from '../../api/client.ts'
import { includedOf, keepWithin, useChange } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'

export type PolicySet = Wire<typeof policySetSchema>
export type PolicySetVersion = Wire<typeof policySetVersionSchema>
export type Policy = Wire<typeof policySchema>

/** A set with its current and its newest version, which may have errored. */
export type ListedSet = {
  id: string
  set: PolicySet
  current: PolicySetVersion | undefined
  newest: PolicySetVersion | undefined
}

export const setRoute = getRouteApi('/frame/app/$organization/policy-sets/$set')

/** The type of all queries about policy sets; their scope is the organization or a set. */
export const POLICY_SETS = 'policy-sets'

type ListSearch = { q?: string | undefined; page?: number | undefined }

export function usePolicySets(organization: string, { q, page }: ListSearch) {
  const query = queryString({
    'search[name]': q,
    'page[size]': 50,
    'page[number]': page,
    include: 'current_version,newest_version',
  })
  return useQuery({
    queryKey: [POLICY_SETS, organization, 'list', query],
    queryFn: async ({ signal }) => {
      const document = await get<PageOnWire<typeof policySetSchema, typeof policySetVersionSchema>>(
        `/organizations/${organization}/policy-sets${query}`,
        signal,
      )
      const included = includedOf(document)
      return {
        meta: document.meta,
        data: document.data.map((set): ListedSet => ({
          id: set.id,
          set,
          current: included.one('policy-set-versions', set.relationships['current-version']),
          newest: included.one('policy-set-versions', set.relationships['newest-version']),
        })),
      }
    },
    placeholderData: keepWithin(organization),
  })
}

const INCLUDE = 'policies,workspaces,projects,workspace_exclusions,project_exclusions,current_version,newest_version'

type SetIncludes = typeof policySetVersionSchema | typeof policySchema | typeof workspaceSchema | typeof projectSchema

/** A set with its versions, its attached policies, and the workspaces and projects of its scope. */
export function usePolicySet(id: string) {
  return useQuery({
    queryKey: [POLICY_SETS, id],
    // The names of its policies, and of the workspaces and projects of its scope.
    meta: { dependsOn: ['policies', 'workspaces', 'projects'] },
    queryFn: async ({ signal }) => {
      const document = await get<DocumentOnWire<typeof policySetSchema, SetIncludes>>(
        `/policy-sets/${id}?include=${INCLUDE}`,
        signal,
      )
      const included = includedOf(document)
      const { relationships } = document.data
      return {
        set: document.data,
        policies: included.many('policies', relationships.policies),
        workspaces: included.many('workspaces', relationships.workspaces),
        projects: included.many('projects', relationships.projects),
        excludedWorkspaces: included.many('workspaces', relationships['workspace-exclusions']),
        excludedProjects: included.many('projects', relationships['project-exclusions']),
        current: included.one('policy-set-versions', relationships['current-version']),
        newest: included.one('policy-set-versions', relationships['newest-version']),
      }
    },
  })
}
/** The versions of a set with their creators, the newest first. */
export function useVersions(setId: string, page: number | undefined) {
  const query = queryString({ 'page[size]': 20, 'page[number]': page, include: 'created_by' })
  return useQuery({
    queryKey: [POLICY_SETS, setId, 'versions', query],
    queryFn: async ({ signal }) => {
      const document = await get<PageOnWire<typeof policySetVersionSchema, typeof userSchema>>(
        `/policy-sets/${setId}/versions${query}`,
        signal,
      )
      const included = includedOf(document)
      const rows = document.data.map((version): VersionRow => ({
        ...version,
        author: included.one('users', version.relationships['created-by'])?.attributes.username,
      }))
      return { rows, pagination: document.meta.pagination }
    },
    placeholderData: keepWithin(setId),
  })
}
export type VersionRow = PolicySetVersion & { author: string | undefined }

export type ShownSet = NonNullable<ReturnType<typeof usePolicySet>['data']>

export function useCreatePolicySet(organization: string) {
  return useChange(
    async (attributes: CreatePolicySet['attributes']) =>
      request<DocumentOnWire<typeof policySetSchema>>('POST', `/organizations/${organization}/policy-sets`, {
        data: { type: 'policy-sets', attributes },
      }),
    [POLICY_SETS, organization],
  )
}

export function useUpdatePolicySet(id: string) {
  return useChange(
    async (attributes: UpdatePolicySet['attributes']) =>
      request('PATCH', `/policy-sets/${id}`, { data: { id, type: 'policy-sets', attributes } }),
    [POLICY_SETS],
  )
}

export type SetRelation = 'workspaces' | 'projects' | 'workspace-exclusions' | 'project-exclusions' | 'policies'
const RELATED_TYPES = {
  workspaces: 'workspaces',
  'workspace-exclusions': 'workspaces',
  projects: 'projects',
  'project-exclusions': 'projects',
  policies: 'policies',
} as const satisfies Record<SetRelation, string>

export type RelationChange = { method: 'POST' | 'DELETE'; relation: SetRelation; id: string }

/** Adds a resource to a relationship of a set, or removes it. */
export function useChangeRelation(setId: string) {
  return useChange(
    async ({ method, relation, id }: RelationChange) =>
      request(method, `/policy-sets/${setId}/relationships/${relation}`, {
        data: [{ type: RELATED_TYPES[relation], id }],
      }),
    [POLICY_SETS],
    ['policies'],
  )
}

export function scopeText({ attributes }: PolicySet) {
  if (attributes.global) return 'All workspaces'
  const { 'project-count': projects, 'workspace-count': workspaces, 'tag-selectors': tags } = attributes
  const included = tags.filter((selector) => !selector['is-exclude']).length
  const parts = [
    projects > 0 && counted(projects, 'project'),
    workspaces > 0 && counted(workspaces, 'workspace'),
    included > 0 && counted(included, 'tag'),
  ].filter(Boolean)
  return parts.length === 0 ? 'No workspaces' : parts.join(', ')
}
