import type { CreatePolicySetParameter, policySetParameterSchema } from '@groundstate/contract/policy-sets'
import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { getData, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'
import { POLICY_SETS } from './policy-sets.ts'

export type Parameter = Wire<typeof policySetParameterSchema>

export function useParameters(setId: string) {
  return useQuery({
    queryKey: [POLICY_SETS, setId, 'parameters'],
    queryFn: async ({ signal }) =>
      getData<PageOnWire<typeof policySetParameterSchema>>(`/policy-sets/${setId}/parameters?page[size]=100`, signal),
  })
}

/** Creates a parameter, or changes the one with the id. */
export function useSaveParameter(setId: string) {
  return useChange(
    async ({ id, ...attributes }: Partial<CreatePolicySetParameter> & { id: string | undefined }) => {
      const path = `/policy-sets/${setId}/parameters`
      return id === undefined
        ? request('POST', path, { data: { type: 'vars', attributes: { ...attributes, category: 'policy-set' } } })
        : request('PATCH', `${path}/${id}`, { data: { id, type: 'vars', attributes } })
    },
    [POLICY_SETS, setId],
  )
}

export function useDeleteParameter(setId: string) {
  return useChange(
    async (id: string) => request('DELETE', `/policy-sets/${setId}/parameters/${id}`),
    [POLICY_SETS, setId],
  )
}
