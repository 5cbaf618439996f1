import type { dataRetentionPolicySchema } from '@groundstate/contract/data-retention'
import type { DocumentOnWire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { getData, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'

/** The attribute of a policy that deletes. */
export const DAYS = 'delete-older-than-n-days'

export function policyText(days: number | null | undefined) {
  if (days === undefined) return 'Loading…'
  return days === null ? 'Keep forever' : `Deleted after ${counted(days, 'day')}`
}

type Owner = 'organizations' | 'workspaces'
type Relation = { data: { id: string; type: string } | null }

function policyPath(owner: Owner, id: string) {
  return `/${owner}/${id}/relationships/data-retention-policy`
}

/** The retention of a workspace or an organization in days: null for unlimited, undefined while unknown. */
export function useRetention(owner: Owner, id: string, relation: Relation | undefined) {
  const policy = relation?.data
  const isDeleting = policy?.type === 'data-retention-policy-delete-olders'
  const { data } = useQuery({
    queryKey: [owner, id, 'data-retention', policy?.id],
    enabled: isDeleting,
    queryFn: async () => getData<DocumentOnWire<typeof dataRetentionPolicySchema>>(policyPath(owner, id)),
  })
  if (!relation) return undefined
  if (!isDeleting) return null
  return data && DAYS in data.attributes ? data.attributes[DAYS] : undefined
}

/** Sets the retention: days, null for unlimited, or `inherit` to delete the policy. */
export function useSetRetention(owner: Owner, id: string, organization = id) {
  const path = policyPath(owner, id)
  return useChange(
    async (days: number | null | 'inherit') => {
      if (days === 'inherit') return request('DELETE', path)
      const data =
        days === null
          ? { type: 'data-retention-policy-dont-deletes' }
          : { type: 'data-retention-policy-delete-olders', attributes: { [DAYS]: days } }
      return request('PATCH', path, { data })
    },
    ['workspaces', organization],
    [owner, id],
  )
}
