import type { agentPoolSchema } from '@groundstate/contract/agent-pools'
import type { planSchema } from '@groundstate/contract/plans'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { effectiveTagBindingSchema } from '@groundstate/contract/tags'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import type { CreateWorkspace, workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { ApiError, get, request } from '../../api/client.ts'

export type WorkspaceResource = Wire<typeof workspaceSchema>
export type WorkspaceAttributes = WorkspaceResource['attributes']
export type WorkspaceDocument = DocumentOnWire<
  typeof workspaceSchema,
  | typeof agentPoolSchema
  | typeof effectiveTagBindingSchema
  | typeof planSchema
  | typeof projectSchema
  | typeof runSchema
  | typeof teamSchema
  | typeof userSchema
>

/** Related resources that the workspace layout loads, in its only request. */
const INCLUDE =
  'include=project,agent_pool,locked_by,current_run,latest_run,latest_run.plan,latest_run.created_by,effective_tag_bindings'

export function workspaceKey(organization: string, name: string) {
  return ['workspaces', organization, 'named', name]
}

/** A workspace with its project, its runs, who holds its lock, and its tags. */
export function useWorkspace(organization: string, name: string) {
  const queries = useQueryClient()
  const queryKey = workspaceKey(organization, name)
  return useQuery({
    queryKey,
    queryFn: async () => {
      try {
        return await get<WorkspaceDocument>(`/organizations/${organization}/workspaces/${name}?${INCLUDE}`)
      } catch (error) {
        // A workspace that has been renamed while its page is open is found by its id; the frame follows the name.
        const id = queries.getQueryData<WorkspaceDocument>(queryKey)?.data.id
        if (id === undefined || !(error instanceof ApiError) || error.status !== 404) throw error
        return get<WorkspaceDocument>(`/workspaces/${id}?${INCLUDE}`)
      }
    },
  })
}

/** The workspace of the URL. For use inside its layout, which renders nothing before the response. */
export function useOpenWorkspace() {
  const { organization = '', workspace: name = '' } = useParams({ strict: false })
  const { data: document } = useWorkspace(organization, name)
  if (!document) throw new Error(`the workspace ${name} is used outside of its frame`)
  return { organization, document, workspace: document.data }
}

type Changes = {
  attributes?: Partial<CreateWorkspace['attributes']>
  relationships?: Record<string, { data: unknown }>
}

/** Changes settings of a workspace. A new name is known here before the address follows it. */
export function useUpdateWorkspace(organization: string) {
  const keep = useKeepWorkspace(organization)
  return useMutation({
    mutationFn: async ({ id, ...changes }: Changes & { id: string }) =>
      request<WorkspaceDocument>('PATCH', `/workspaces/${id}?${INCLUDE}`, {
        data: { id, type: 'workspaces', ...changes },
      }),
    onSuccess: keep,
  })
}

/** Locks the workspace, or opens its lock. */
export function useWorkspaceLock(organization: string) {
  const keep = useKeepWorkspace(organization)
  return useMutation({
    mutationFn: async ({ id, action, reason }: { id: string; action: LockAction; reason?: string | undefined }) =>
      request<WorkspaceDocument>(
        'POST',
        `/workspaces/${id}/actions/${action}?${INCLUDE}`,
        reason === undefined ? {} : { reason },
      ),
    onSuccess: keep,
  })
}
export type LockAction = 'lock' | 'unlock' | 'force-unlock'

/** Caches the workspace of a response, and invalidates lists. */
function useKeepWorkspace(organization: string) {
  const queries = useQueryClient()
  return (document: WorkspaceDocument) => {
    const key = workspaceKey(organization, document.data.attributes.name)
    queries.setQueryData(key, document)
    return queries.invalidateQueries({
      queryKey: ['workspaces', organization],
      predicate: ({ queryKey }) => queryKey[2] !== 'named',
    })
  }
}
