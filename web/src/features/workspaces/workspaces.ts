import type { DocumentOnWire, PageOnWire, Wire } from '@groundstate/contract/answers'
import type { runSchema } from '@groundstate/contract/runs'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useQuery } from '@tanstack/react-query'
import { get } from '../../api/client.ts'

type WorkspaceAttributes = Wire<typeof workspaceSchema>['attributes']

export function useWorkspaces(organization: string, search: string, page: number) {
  const params = new URLSearchParams({ 'page[size]': '20', 'page[number]': String(page), include: 'current_run' })
  if (search !== '') params.set('search[name]', search)
  return useQuery({
    queryKey: ['workspaces', organization, search, page],
    placeholderData: (before) => before,
    queryFn: async () =>
      get<PageOnWire<typeof workspaceSchema, typeof runSchema>>(
        `/organizations/${organization}/workspaces?${params.toString()}`,
      ),
  })
}

export function useWorkspace(organization: string, name: string) {
  return useQuery({
    queryKey: ['workspace', organization, name],
    queryFn: async () =>
      get<DocumentOnWire<typeof workspaceSchema>>(`/organizations/${organization}/workspaces/${name}`),
    refetchInterval: (query) => (query.state.data?.data.attributes.locked ? 3000 : 15_000),
  })
}

/** "1 resource", "2 resources". */
export function resourceCount({ 'resource-count': count }: Pick<WorkspaceAttributes, 'resource-count'>) {
  return `${count} ${count === 1 ? 'resource' : 'resources'}`
}
