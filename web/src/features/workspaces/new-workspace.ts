import type { agentPoolSchema } from '@groundstate/contract/agent-pools'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { CreateWorkspace, workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'

type ExecutionMode = Wire<typeof workspaceSchema>['attributes']['execution-mode']

/** The form of a new workspace. `mode` is empty where the workspace follows its project. */
export type NewWorkspace = {
  name: string
  description: string
  projectId: string | undefined
  mode: ExecutionMode | ''
  poolId: string
  engineVersion: string
  isAutoApply: boolean
}

/** The error in a name, worded as by the server, if any. */
export function nameProblem(name: string) {
  if (name.length > 90) return 'Name is too long (maximum is 90 characters)'
  if (!/^[A-Za-z0-9_-]*$/.test(name)) return 'Name may only contain letters, numbers, underscores and hyphens'
  return undefined
}

/** The body of the request. Empty fields default to the project's and the server's settings. */
export function newWorkspaceBody(form: NewWorkspace): { data: CreateWorkspace } {
  return {
    data: {
      type: 'workspaces',
      attributes: {
        name: form.name,
        'auto-apply': form.isAutoApply,
        ...(form.description !== '' && { description: form.description }),
        ...(form.engineVersion.trim() !== '' && { 'engine-version': form.engineVersion.trim() }),
        ...(form.mode !== '' && { 'execution-mode': form.mode }),
        ...(form.mode === 'agent' && form.poolId !== '' && { 'agent-pool-id': form.poolId }),
      },
      relationships: {
        ...(form.projectId !== undefined && { project: { data: { type: 'projects', id: form.projectId } } }),
      },
    },
  }
}

export function useCreateWorkspace(organization: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (form: NewWorkspace) =>
      request<DocumentOnWire<typeof workspaceSchema>>(
        'POST',
        `/organizations/${organization}/workspaces`,
        newWorkspaceBody(form),
      ),
    onSuccess: async () =>
      Promise.all(
        ['workspaces', 'overview', 'projects'].map(async (kind) =>
          queries.invalidateQueries({ queryKey: [kind, organization] }),
        ),
      ),
  })
}

/** The first projects in which the user may create workspaces. */
export function useCreatableProjects(organization: string) {
  return useQuery({
    queryKey: ['projects', organization, 'creatable'],
    staleTime: 60_000,
    queryFn: async () => {
      const query = queryString({ 'filter[permissions][create-workspace]': 'true', 'page[size]': 100 })
      const { data } = await get<PageOnWire<typeof projectSchema>>(`/organizations/${organization}/projects${query}`)
      return data.map(({ id, attributes }) => ({
        id,
        name: attributes.name,
        mode: attributes['default-execution-mode'],
      }))
    },
  })
}

/** The agent pools of an organization; none if the user may not read them. */
export function useAgentPools(organization: string) {
  return useQuery({
    queryKey: ['agent-pools', organization, 'choices'],
    staleTime: 60_000,
    queryFn: async () => {
      const { data } = await get<PageOnWire<typeof agentPoolSchema>>(
        `/organizations/${organization}/agent-pools?page[size]=100`,
      )
      return data.map(({ id, attributes }) => ({ id, name: attributes.name, online: attributes['agent-count'] }))
    },
  })
}
