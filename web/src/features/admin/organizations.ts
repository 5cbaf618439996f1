import type { adminOrganizationSchema, featureSetSchema } from '@groundstate/contract/admin'
import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import { keepPreviousData, useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { invalidate } from '../../api/queries.ts'
import { counted } from '../../components/numbers.ts'

export type SiteOrganization = Wire<typeof adminOrganizationSchema>
export type FeatureSet = Wire<typeof featureSetSchema>
type Plan = SiteOrganization['attributes']['plan']

export function useSiteOrganizations({ q, page }: { q?: string | undefined; page?: number | undefined }) {
  const query = queryString({ q, 'page[number]': page, 'page[size]': 50 })
  return useQuery({
    queryKey: ['admin-organizations', 'list', query],
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof adminOrganizationSchema>>(`/admin/organizations${query}`, signal),
    placeholderData: keepPreviousData,
  })
}

export function useSiteOrganization(name: string) {
  return useQuery({
    queryKey: ['admin-organizations', name],
    queryFn: async () => getData<DocumentOnWire<typeof adminOrganizationSchema>>(`/admin/organizations/${name}`),
  })
}

export function useFeatureSets() {
  return useQuery({
    queryKey: ['feature-sets'],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await get<PageOnWire<typeof featureSetSchema>>('/admin/feature-sets')).data,
  })
}

export async function updateSiteOrganization(
  name: string,
  attributes: { plan?: Plan; 'run-concurrency'?: number | null },
) {
  await request('PATCH', `/admin/organizations/${name}`, { data: { type: 'organizations', attributes } })
  await invalidate(['admin-organizations'], ['organizations'])
}

/** Limits of a plan, in words. */
export function limitsText({ attributes }: FeatureSet) {
  const limits = [
    [attributes['run-task-limit'], 'run task', 'run tasks'],
    [attributes['run-task-workspace-limit'], 'workspace with run tasks', 'workspaces with run tasks'],
    [attributes['agents-ceiling'], 'self-hosted agent', 'self-hosted agents'],
  ] as const
  const texts = limits.flatMap(([limit, one, many]) => (limit === null ? [] : counted(limit, one, many)))
  return texts.length === 0 ? 'No limits.' : `Up to ${texts.join(', ')}.`
}
