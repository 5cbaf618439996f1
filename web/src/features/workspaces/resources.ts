import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/responses'
import type { resourceCountsSchema, workspaceResourceSchema } from '@groundstate/contract/workspace-resources'
import { useQuery } from '@tanstack/react-query'
import { get, queryString } from '../../api/client.ts'
import { isOfScope } from '../../api/queries.ts'

export type StateResource = Wire<typeof workspaceResourceSchema>
export type ResourceQuery = {
  q?: string | undefined
  module?: string | undefined
  type?: string | undefined
  page?: number | undefined
}

const PAGE_SIZE = 25

/** A page of the resources in the current state, module by module. */
export function useResources(workspaceId: string, { q, module, type, page = 1 }: ResourceQuery) {
  return useQuery({
    queryKey: ['resources', workspaceId, { q, module, type, page }],
    placeholderData: (before, query) => (isOfScope(query, workspaceId) ? before : undefined),
    queryFn: async () => {
      const search = queryString({
        q,
        'filter[module]': module,
        'filter[type]': type,
        sort: 'module:asc',
        'page[number]': page,
        'page[size]': PAGE_SIZE,
      })
      return get<PageOnWire<typeof workspaceResourceSchema>>(`/workspaces/${workspaceId}/resources${search}`)
    },
  })
}

/** How many resources there are in each module and of each type. */
export function useResourceCounts(workspaceId: string) {
  return useQuery({
    queryKey: ['resources', workspaceId, 'counts'],
    queryFn: async () =>
      (await get<DocumentOnWire<typeof resourceCountsSchema>>(`/workspaces/${workspaceId}/resource-counts`)).data
        .attributes,
  })
}

/** Resources that follow each other in the same module. */
export function byModule(resources: readonly StateResource[]) {
  return [...Map.groupBy(resources, ({ attributes }) => attributes.module)]
}
