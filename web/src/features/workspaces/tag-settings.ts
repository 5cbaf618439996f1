import type { PageOnWire } from '@groundstate/contract/responses'
import type { tagBindingSchema } from '@groundstate/contract/tags'
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { get, request } from '../../api/client.ts'
import type { Tag } from './tag-filter.ts'

/** The tags that the workspace has itself, without those of its project. */
export function useOwnTags(workspaceId: string) {
  return useQuery({
    queryKey: ['workspaces', workspaceId, 'tags'],
    queryFn: async () => {
      const { data } = await get<PageOnWire<typeof tagBindingSchema>>(`/workspaces/${workspaceId}/tag-bindings`)
      return data.map(({ attributes: { key, value } }): Tag => ({ key, value }))
    },
  })
}

/** Replaces the tags of the workspace. */
export function useReplaceTags(organization: string, workspaceId: string) {
  const queries = useQueryClient()
  return useMutation({
    mutationFn: async (tags: readonly Tag[]) =>
      request('PATCH', `/workspaces/${workspaceId}/relationships/tag-bindings`, {
        data: tags.map((attributes) => ({ type: 'tag-bindings', attributes })),
      }),
    onSuccess: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ['workspaces', workspaceId, 'tags'] }),
        queries.invalidateQueries({ queryKey: ['workspaces', organization] }),
      ]),
  })
}
