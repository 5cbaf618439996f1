import type { PageOnWire, Wire } from '@groundstate/contract/responses'
import type { reservedTagKeySchema, tagValueSchema } from '@groundstate/contract/tags'
import { useQuery } from '@tanstack/react-query'
import { get, getData, queryString, request } from '../../api/client.ts'
import { keepWithin, sendAndRefetch, useChange } from '../../api/queries.ts'

export type TagValue = Wire<typeof tagValueSchema>
export type ReservedTagKey = Wire<typeof reservedTagKeySchema>

type ListSearch = { q?: string | undefined; page?: number | undefined }

/** The tags of workspaces and projects by key and value. */
export function useTagValues(organization: string, { q, page }: ListSearch) {
  const query = queryString({ q, 'page[size]': 50, 'page[number]': page })
  return useQuery({
    queryKey: ['tags', organization, 'values', query],
    meta: { dependsOn: ['workspaces', 'projects'] },
    queryFn: async ({ signal }) =>
      get<PageOnWire<typeof tagValueSchema>>(`/organizations/${organization}/tag-values${query}`, signal),
    placeholderData: keepWithin(organization),
  })
}

/** Deletes a tag with its value from all workspaces. */
export function useDeleteTag(organization: string) {
  return useChange(
    async (id: string) =>
      request('DELETE', `/organizations/${organization}/tag-values`, { data: [{ type: 'tag-values', id }] }),
    ['tags', organization],
    ['workspaces'],
  )
}

export function useReservedTagKeys(organization: string) {
  return useQuery({
    queryKey: ['tags', organization, 'reserved'],
    queryFn: async () =>
      getData<PageOnWire<typeof reservedTagKeySchema>>(
        `/organizations/${organization}/reserved-tag-keys?page[size]=100`,
      ),
  })
}

type ReservedKeyInput = { id?: string | undefined; key: string; 'disable-overrides': boolean }

/** Reserves a key, or changes the reservation with the id. */
export function useSaveReservedKey(organization: string) {
  return useChange(
    async ({ id, ...attributes }: ReservedKeyInput) => {
      const body = { data: { type: 'reserved-tag-keys', attributes } }
      return id === undefined
        ? request('POST', `/organizations/${organization}/reserved-tag-keys`, body)
        : request('PATCH', `/reserved-tag-keys/${id}`, body)
    },
    ['tags', organization, 'reserved'],
    ['workspaces'],
  )
}

export async function removeReservedKey(organization: string, id: string) {
  return sendAndRefetch('DELETE', `/reserved-tag-keys/${id}`, ['tags', organization, 'reserved'], ['workspaces'])
}
