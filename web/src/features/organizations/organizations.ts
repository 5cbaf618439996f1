import type { organizationSchema } from '@groundstate/contract/organizations'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import { useQuery } from '@tanstack/react-query'
import { get, getData, request } from '../../api/client.ts'
import { useChange } from '../../api/queries.ts'

export type OrganizationPermissions = Wire<typeof organizationSchema>['attributes']['permissions']

export function useOrganizations({ isEnabled = true }: { isEnabled?: boolean } = {}) {
  return useQuery({
    queryKey: ['organizations'],
    enabled: isEnabled,
    staleTime: 60_000,
    queryFn: async () => get<PageOnWire<typeof organizationSchema>>('/organizations?page[size]=100'),
  })
}

/** An organization with the user's permissions. Disabled without a name. */
export function useOrganization(name: string | undefined) {
  return useQuery({
    queryKey: ['organizations', name],
    enabled: name !== undefined,
    staleTime: 60_000,
    queryFn: async () => getData<DocumentOnWire<typeof organizationSchema>>(`/organizations/${name}`),
  })
}

/** The user's permissions in an organization; undefined until they are known. */
export function useOrganizationPermissions(name: string | undefined) {
  return useOrganization(name).data?.attributes.permissions
}

export function useCreateOrganization() {
  return useChange(
    async (attributes: { name: string; email: string }) =>
      request<DocumentOnWire<typeof organizationSchema>>('POST', '/organizations', {
        data: { type: 'organizations', attributes },
      }),
    ['organizations'],
  )
}
