import type { PageOnWire } from '@groundstate/contract/responses'
import type { workspaceSchema } from '@groundstate/contract/workspaces'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, queryString, request } from '../../api/client.ts'
import type { Choice } from '../../components/picker.tsx'

function consumersPath(workspaceId: string) {
  return `/workspaces/${workspaceId}/relationships/remote-state-consumers`
}

/** The workspaces that may read the state of this one because they are named. */
export function useConsumers(workspaceId: string, page: number) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'consumers', page],
    queryFn: async () =>
      get<PageOnWire<typeof workspaceSchema>>(
        `${consumersPath(workspaceId)}${queryString({ 'page[size]': 20, 'page[number]': page })}`,
      ),
  })
}

/** Lets a workspace read the state, or no longer. */
export function useChangeConsumers(workspaceId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async ({ method, id }: { method: 'POST' | 'DELETE'; id: string }) =>
      request(method, consumersPath(workspaceId), { data: [{ type: 'workspaces', id }] }),
    onSuccess: async () => queries.invalidateQueries({ queryKey: ['workspaces', workspaceId, 'consumers'] }),
  })
}

/** Workspaces with the text in their names, for a picker, without the one that asks. */
export async function findWorkspaces(
  { organization, without }: { organization: string; without: string },
  text: string,
  signal?: AbortSignal,
): Promise<Choice[]> {
  const query = queryString({ 'search[name]': text, 'page[size]': 30 })
  const { data } = await get<PageOnWire<typeof workspaceSchema>>(
    `/organizations/${organization}/workspaces${query}`,
    signal,
  )
  return data.filter(({ id }) => id !== without).map(({ id, attributes }) => ({ value: id, text: attributes.name }))
}
