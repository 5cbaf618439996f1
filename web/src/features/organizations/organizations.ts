import type { DocumentOnWire, PageOnWire } from '@groundstate/contract/answers'
import type { organizationSchema } from '@groundstate/contract/organizations'
import { useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

/** The organizations of the person. */
export function useOrganizations() {
  return useQuery({
    queryKey: ['organizations'],
    staleTime: 60_000,
    queryFn: async () => get<PageOnWire<typeof organizationSchema>>('/organizations?page[size]=100'),
  })
}

/** An organization with what the person may do in it. */
export function useOrganization(name: string) {
  return useQuery({
    queryKey: ['organizations', name],
    staleTime: 60_000,
    queryFn: async () => (await get<DocumentOnWire<typeof organizationSchema>>(`/organizations/${name}`)).data,
  })
}
