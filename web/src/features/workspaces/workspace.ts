import type { agentPoolSchema } from '@groundstate/contract/agent-pools'
import type { configurationVersionSchema, ingressAttributesSchema } from '@groundstate/contract/configuration-versions'
import type { planSchema } from '@groundstate/contract/plans'
import type { projectSchema } from '@groundstate/contract/projects'
import type { DocumentOnWire, Wire } from '@groundstate/contract/responses'
import type { runSchema } from '@groundstate/contract/runs'
import type { effectiveTagBindingSchema } from '@groundstate/contract/tags'
import type { teamSchema } from '@groundstate/contract/teams'
import type { userSchema } from '@groundstate/contract/users'
import type { CreateWorkspace, workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery } from '@tanstack/react-query'
import { useParams } from '@tanstack/react-router'
import { get, isNotFound, request } from '../../api/client.ts'
import { queries } from '../../api/queries.ts'
import { toast } from '../../components/overlay-hosts.tsx'

export type WorkspaceResource = Wire<typeof workspaceSchema>
export type WorkspaceAttributes = WorkspaceResource['attributes']
export type WorkspaceDocument = DocumentOnWire<
  typeof workspaceSchema,
  | typeof agentPoolSchema
  | typeof configurationVersionSchema
  | typeof ingressAttributesSchema
  | typeof effectiveTagBindingSchema
  | typeof planSchema
  | typeof projectSchema
  | typeof runSchema
  | typeof teamSchema
  | typeof userSchema
>

/** Related resources, so that the workspace layout needs only one request. */
const INCLUDE =
  'include=project,agent_pool,locked_by,current_run,latest_run,latest_run.plan,latest_run.created_by,latest_run.configuration_version.ingress_attributes,effective_tag_bindings'

export function workspaceKey(organization: string, name: string) {
  return ['workspaces', organization, 'named', name]
}

/** A workspace with its related resources. Disabled for an empty name. */
export function useWorkspace(organization: string, name: string) {
  const queryKey = workspaceKey(organization, name)
  return useQuery({
    queryKey,
    enabled: name !== '',
    queryFn: async () => {
      try {
        return await get<WorkspaceDocument>(`/organizations/${organization}/workspaces/${name}?${INCLUDE}`)
      } catch (error) {
        // A workspace that was renamed while its page is open is found by its id; the frame then changes the URL.
        const id = queries.getQueryData<WorkspaceDocument>(queryKey)?.data.id
        if (id === undefined || !(error instanceof Error && isNotFound(error))) throw error
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
  id: string
  attributes?: Partial<CreateWorkspace['attributes']>
  relationships?: Record<string, { data: unknown }>
}

/** Updates a workspace. A new name is cached before the URL changes to it. */
export function useUpdateWorkspace(organization: string) {
  return useMutation({
    mutationFn: async ({ id, ...changes }: Changes) =>
      request<WorkspaceDocument>('PATCH', `/workspaces/${id}?${INCLUDE}`, {
        data: { id, type: 'workspaces', ...changes },
      }),
    onSuccess: async (document) => cacheWorkspace(organization, document),
  })
}

type LockChange = { id: string; action: 'lock' | 'unlock' | 'force-unlock'; reason?: string | undefined }

export function useWorkspaceLock(organization: string) {
  return useMutation({
    mutationFn: async ({ id, action, reason }: LockChange) =>
      request<WorkspaceDocument>(
        'POST',
        `/workspaces/${id}/actions/${action}?${INCLUDE}`,
        reason === undefined ? {} : { reason },
      ),
    onSuccess: async (document) => cacheWorkspace(organization, document),
  })
}

/** Releases the user's own lock, and says so. The user may leave the page before the response: callbacks of `mutate` would then be dropped. */
export function useUnlock(organization: string) {
  const change = useWorkspaceLock(organization)
  function unlock({ id, attributes: { name } }: WorkspaceResource) {
    void change.mutateAsync({ id, action: 'unlock' }).then(
      () => toast({ text: `${name} unlocked` }),
      ({ message }: Error) => toast({ text: message, tone: 'bad' }),
    )
  }
  return { unlock, isPending: change.isPending }
}

/** Caches the workspace of a response, and invalidates lists. */
async function cacheWorkspace(organization: string, document: WorkspaceDocument) {
  queries.setQueryData(workspaceKey(organization, document.data.attributes.name), document)
  await queries.invalidateQueries({
    queryKey: ['workspaces', organization],
    predicate: ({ queryKey }) => queryKey[2] !== 'named',
  })
}
