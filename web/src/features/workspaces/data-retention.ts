import type { dataRetentionPolicySchema } from '@groundstate/contract/data-retention'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'

type Owner = 'organizations' | 'workspaces'
type Relation = { data: { id: string; type: string } | null }

function policyPath(owner: Owner, id: string) {
  return `/${owner}/${id}/relationships/data-retention-policy`
}

/**
 * The days after which old data of a workspace or an organization is deleted, null for never; undefined while it is not
 * known. `relation` says whether there is a policy.
 */
export function useRetention(owner: Owner, id: string, relation: Relation | undefined) {
  const policy = relation?.data
  const isDeleting = policy?.type === 'data-retention-policy-delete-olders'
  const found = useQuery({
    queryKey: [owner, id, 'data-retention', policy?.id],
    enabled: isDeleting,
    queryFn: async () => (await get<DocumentOnWire<typeof dataRetentionPolicySchema>>(policyPath(owner, id))).data,
  })
  if (!relation) return undefined
  if (!isDeleting) return null
  return found.data && 'delete-older-than-n-days' in found.data.attributes
    ? found.data.attributes['delete-older-than-n-days']
    : undefined
}

/** Sets the policy of a workspace: days, null to keep everything, `inherit` to follow the organization. */
export function useSetRetention(organization: string, workspaceId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (days: number | null | 'inherit') => {
      const path = policyPath('workspaces', workspaceId)
      if (days === 'inherit') return request('DELETE', path)
      const data =
        days === null
          ? { type: 'data-retention-policy-dont-deletes' }
          : { type: 'data-retention-policy-delete-olders', attributes: { 'delete-older-than-n-days': days } }
      return request('PATCH', path, { data })
    },
    onSuccess: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['workspaces', organization] }),
        queries.invalidateQueries({ queryKey: ['workspaces', workspaceId, 'data-retention'] }),
      ]),
  })
}
