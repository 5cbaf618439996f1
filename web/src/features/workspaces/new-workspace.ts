import type { agentPoolSchema } from '@groundstate/contract/agent-pools'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import type { CreateWorkspace, workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { getData, queryString, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'
import { useOrganizationPermissions } from '../organizations/organizations.ts'
import type { WorkspaceAttributes } from './workspace.ts'
import { useSomeWorkspaceWith } from './workspaces.ts'

/** The form of a new workspace. `mode` is empty where the workspace inherits it. */
export type NewWorkspace = {
  name: string
  description: string
  projectId: string | undefined
  mode: WorkspaceAttributes['execution-mode'] | ''
  poolId: string
  engineVersion: string
  isAutoApply: boolean
  /** Attributes of the repository that it follows, if any. */
  repository?: Partial<CreateWorkspace['attributes']>
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
        ...form.repository,
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
  const path = `/organizations/${organization}/workspaces`
  return useChange(
    async (form: NewWorkspace) => request<DocumentOnWire<typeof workspaceSchema>>('POST', path, newWorkspaceBody(form)),
    ['workspaces', organization],
    ['overview', organization],
    ['projects', organization],
  )
}

/** The first projects in which the user may create workspaces. */
export function useCreatableProjects(organization: string, { isEnabled = true } = {}) {
  return useQuery({
    queryKey: ['projects', organization, 'creatable'],
    enabled: isEnabled,
    staleTime: 60_000,
    queryFn: async () => {
      const query = queryString({ 'filter[permissions][create-workspace]': 'true', 'page[size]': 100 })
      const path = `/organizations/${organization}/projects${query}`
      const data = await getData<PageOnWire<typeof projectSchema>>(path)
      return data.map(({ id, attributes: { name, 'default-execution-mode': mode } }) => ({ id, name, mode }))
    },
  })
}

/** The reason why the user can neither create a workspace nor use an existing one, for uploads (`can-queue-run`) and imports. */
export function useTargetReason(organization: string, permission: 'can-queue-run' | 'can-create-state-versions') {
  const everywhere = useOrganizationPermissions(organization)?.['can-create-workspace']
  const projects = useCreatableProjects(organization, { isEnabled: everywhere === false })
  const cannotCreate = everywhere === false && projects.data?.length === 0
  const mayUse = useSomeWorkspaceWith(organization, permission, { isEnabled: cannotCreate })
  if (!cannotCreate || mayUse !== false) return undefined
  const use = permission === 'can-queue-run' ? 'create runs' : 'write states'
  return `you can’t create workspaces, or ${use} in an existing one: an owner can give your team access`
}

export function useAgentPools(organization: string) {
  return useQuery({
    queryKey: ['agent-pools', organization, 'choices'],
    staleTime: 60_000,
    queryFn: async () => {
      const path = `/organizations/${organization}/agent-pools?page[size]=100`
      const data = await getData<PageOnWire<typeof agentPoolSchema>>(path)
      return data.map(({ id, attributes: { name, 'agent-count': online } }) => ({ id, name, online }))
    },
  })
}
