import { useQuery } from '@tanstack/react-query'
import { type Document, get, type ListDocument } from '../../api/client.ts'

export type WorkspaceAttributes = {
  name: string
  description: string | null
  locked: boolean
  'execution-mode': string
  'terraform-version': string
  'resource-count': number
  'updated-at': string
  'tag-names': string[]
  'waiting-reason'?: string | null
}

export function useWorkspaces(organization: string, search: string, page: number) {
  const params = new URLSearchParams({ 'page[size]': '20', 'page[number]': String(page), include: 'current_run' })
  if (search !== '') params.set('search[name]', search)
  return useQuery({
    queryKey: ['workspaces', organization, search, page],
    placeholderData: (before) => before,
    queryFn: async () =>
      get<ListDocument<WorkspaceAttributes>>(`/organizations/${organization}/workspaces?${params.toString()}`),
  })
}

export function useWorkspace(organization: string, name: string) {
  return useQuery({
    queryKey: ['workspace', organization, name],
    queryFn: async () => get<Document<WorkspaceAttributes>>(`/organizations/${organization}/workspaces/${name}`),
    refetchInterval: (query) => (query.state.data?.data.attributes.locked ? 3000 : 15_000),
  })
}

/** "1 resource", "2 resources". */
export function resourceCount({ 'resource-count': count }: Pick<WorkspaceAttributes, 'resource-count'>) {
  return `${count} ${count === 1 ? 'resource' : 'resources'}`
}
