import type { organizationSchema } from '@groundstate/contract/organizations'
import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/responses'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'

/** The organizations of the person. */
export function useOrganizations() {
  return useQuery({
    queryKey: ['organizations'],
    staleTime: 60_000,
    queryFn: async () => get<PageOnWire<typeof organizationSchema>>('/organizations?page[size]=100'),
  })
}

/** An organization with what the person may do in it; nothing is asked without a name. */
export function useOrganization(name: string | undefined) {
  return useQuery({
    queryKey: ['organizations', name],
    enabled: name !== undefined,
    staleTime: 60_000,
    queryFn: async () => (await get<DocumentOnWire<typeof organizationSchema>>(`/organizations/${name}`)).data,
  })
}

/** Makes an organization that the person owns. */
export function useCreateOrganization() {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (attributes: { name: string; email: string }) =>
      request<DocumentOnWire<typeof organizationSchema>>('POST', '/organizations', {
        data: { type: 'organizations', attributes },
      }),
    onSuccess: async () => queries.invalidateQueries({ queryKey: ['organizations'] }),
  })
}
